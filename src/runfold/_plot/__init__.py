"""Curves with their bands, for papers, notebooks and the terminal.

Modules:

    panels             what a figure shows, before anything is drawn
    figure             figures of folded runs
    series_figure      the figure of one series
    legend             the legend, at a place where it covers no curve
    fewer_runs         where a curve has fewer runs than elsewhere
    theme              colours, sizes and fonts
    canvas             the figure that is returned
    smoothing          TensorBoard's smoothing
    thinning           fewer points for the same picture
    terminal_curves    curves in text
    terminal_drawings  small curves, bars and pictures in text
"""
