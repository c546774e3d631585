// Draws each figure of the page in the colours of the theme. Nothing of it leaves the page: no cloud, no logo, no address.
(() => {
  "use strict";
  const config = {
    displaylogo: false,
    plotlyServerURL: "",
    responsive: true,
    modeBarButtonsToRemove: ["sendChartToCloud", "sendDataToCloud", "toImage", "select2d", "lasso2d", "autoScale2d"],
  };
  const colours = (frame) => {
    const ink = getComputedStyle(frame).color;
    const line = getComputedStyle(frame).borderTopColor;
    const paper = getComputedStyle(document.body).backgroundColor;
    return {
      "font.color": ink, "font.family": getComputedStyle(frame).fontFamily, "xaxis.gridcolor": line, "yaxis.gridcolor": line,
      "hoverlabel.bgcolor": paper, "hoverlabel.bordercolor": line, "hoverlabel.font.color": ink,
      "modebar.bgcolor": "rgba(0,0,0,0)", "modebar.color": ink, "modebar.activecolor": ink,
    };
  };
  for (const frame of document.querySelectorAll(".chart")) {
    const plot = frame.querySelector(".plot");
    const figure = JSON.parse(frame.querySelector("script[type='application/json']").textContent);
    const paint = () => Plotly.relayout(plot, colours(frame));
    plot.replaceChildren(); // what kept the room
    Plotly.newPlot(plot, figure.data, figure.layout, config).then(paint);
    new MutationObserver(paint).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
  }
})();
