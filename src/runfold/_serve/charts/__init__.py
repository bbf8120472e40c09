"""What the charts of the page show: series, groups, fewer points, bins.

Modules:

    chart_request   which series, along which axis
    grouping        groups of runs as requested
    stored_values   stored values of one tag, few enough for one response
    downsample      fewer points for the same picture
    histogram_bins  bins that all histograms share
"""
