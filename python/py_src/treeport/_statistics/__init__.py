"""Tests and corrections on top of exact distances: samples, groups, sampling noise, drift."""
