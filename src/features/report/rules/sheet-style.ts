/** How a report looks, on the page and on paper: in light colours always. */
export const SHEET_STYLE = `
.report { max-width: 190mm; margin: 0 auto; padding: 8mm; color: #1a1a1a; background: #fff; font: 10pt/1.35 system-ui, sans-serif; }
.report h1, .report .machine { font-size: 18pt; margin: 0 0 2mm; border: 0; }
.report h2 { font-size: 13pt; margin: 7mm 0 2mm; border-bottom: 1px solid #999; break-after: avoid; }
.report h3 { font-size: 11pt; margin: 4mm 0 1mm; break-after: avoid; }
.report p { margin: 1mm 0; }
.report :is(h1, h2, h3, p, li, dd, figcaption, td:first-child) { overflow-wrap: anywhere; }
.report dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0 4mm; margin: 2mm 0; }
.report dt { color: #555; }
.report dd { margin: 0; }
.report figure { margin: 2mm 0 4mm; break-inside: avoid; }
.report figcaption { font-weight: 600; }
.report figure .scroll > svg { display: block; width: 100%; height: auto; }
.report .legend { display: flex; flex-wrap: wrap; gap: 0 5mm; margin: 0 0 0 10mm; padding: 0; list-style: none; font-size: 8pt; color: #333; }
.report table { width: 100%; border-collapse: collapse; font-size: 9pt; }
.report th, .report td { padding: 1mm 2mm; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top; }
.report .scroll { overflow-x: auto; }
.report tr { break-inside: avoid; }
.report .appendix { break-before: page; }
.report .zone { color: #1a1a1a; background: none; display: inline-block; min-width: 1.2em; border: 1.5px solid #333; border-radius: 3px; text-align: center; font-weight: 700; }
.report .state { display: inline-block; padding: 0 2mm; border: 1.5px solid #333; border-radius: 3px; font-weight: 700; }
@page { margin: 14mm 12mm 16mm; @bottom-right { content: "page " counter(page) " of " counter(pages); font: 8pt sans-serif; } }
.report .alarms td:first-child, .report .alarms td:nth-child(2) { white-space: nowrap; }
.report .alarms :is(th, td):last-child { width: 19mm; }
.report .alarms td:nth-child(n + 3) { overflow-wrap: anywhere; }
@media screen and (max-width: 600px) {
  .report { padding: 4mm; }
  .report figure .scroll > svg { width: 600px; }
  .report .alarms :is(thead, td:empty) { display: none; }
  .report .alarms :is(table, tbody, tr, td, td:last-child) { display: block; width: auto; }
  .report .alarms tr { padding: 1mm 0; border-bottom: 1px solid #ccc; }
  .report .alarms td { padding: 0; border: 0; }
  .report .alarms td:last-child::before { content: "Acknowledged by "; }
}
@media print {
  .report { max-width: none; padding: 0; font-size: 9pt; line-height: 1.28; }
  .report .scroll { overflow: visible; }
  .report table { font-size: 8pt; }
  .report th, .report td { padding: 0.6mm 2mm; }
  .report h2 { margin-top: 4mm; }
  .report h3 { margin-top: 2mm; }
  .report figure { margin: 1mm 0 2mm; }
  .report .trends figure .scroll > svg { height: 30mm; }
  .report .alarms table { font-size: 7.5pt; }
}
`;
