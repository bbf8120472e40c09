"""Data for the page's charts: series, groups, downsampling, bins.

Modules:

    chart_request   the series and axis of a chart
    grouping        the requested groups of runs
    stored_values   stored values of one tag, few enough for one response
    downsample      fewer points for the same picture
    histogram_bins  bins shared by all histograms
"""
