//! Data sets, generators, experiments and plots for treeport.
