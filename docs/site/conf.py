"""Settings of Sphinx for the site, which build.py has put together in one folder."""

import treeport

project = "treeport"
version = release = treeport.__version__
html_title = f"treeport {version}"
copyright = "the treeport authors"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
# Anchors of headings are checked like files.
myst_heading_anchors = 4
# Pages of plain text in code blocks, such as those of the command line, have no language to check.
suppress_warnings = ["misc.highlighting_failure"]

# Docstrings say `emd` for code, and have sections as NumPy's have.
default_role = "code"
napoleon_google_docstring = False
# Types are words there, not names to link.
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
