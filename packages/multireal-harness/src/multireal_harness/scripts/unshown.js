// Laying out megabytes of text takes longer than everything else (15.7 million characters: 8.5 to 10 s),
// and text can be read without being shown.
(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('pre { display: none !important; }');
  document.adoptedStyleSheets = [sheet];
})()
