"""Curves with their bands, for papers, notebooks and the terminal.

Modules:

    panels             the content of a figure, independent of how it is drawn
    figure             figures of folded runs
    series_figure      the figure of one series
    legend             the legend, placed so that it covers no curve
    fewer_runs         the parts of a curve that have fewer runs
    theme              colors, sizes and fonts
    canvas             subclasses of Matplotlib's classes
    smoothing          TensorBoard's smoothing
    thinning           fewer points for the same picture
    terminal_curves    curves in text
    terminal_drawings  small curves, bars and pictures in text
"""
