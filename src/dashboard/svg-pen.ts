/** Draws on paper what is otherwise drawn on a canvas. */
import { escapeText } from "../core/drawing/figure-axes.ts";

/** What the drawings use of a canvas. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "fill"
  | "stroke"
  | "fillRect"
  | "fillText"
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "textAlign"
  | "font"
>;

export class SvgPen implements Pen {
  fillStyle = "";
  strokeStyle = "";
  lineWidth = 1;
  textAlign: CanvasTextAlign = "left";
  font = "";
  #path = "";
  readonly #drawn: string[] = [];

  beginPath(): void {
    this.#path = "";
  }
  moveTo(x: number, y: number): void {
    this.#path += `M${x.toFixed(1)} ${y.toFixed(1)}`;
  }
  lineTo(x: number, y: number): void {
    this.#path += `L${x.toFixed(1)} ${y.toFixed(1)}`;
  }
  fill(): void {
    this.#drawn.push(`<path d="${this.#path}" fill="${this.fillStyle}"/>`);
  }
  stroke(): void {
    this.#drawn.push(
      `<path d="${this.#path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"/>`,
    );
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    this.#drawn.push(
      `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${this.fillStyle}"/>`,
    );
  }
  fillText(text: string, x: number, y: number): void {
    const anchor = this.textAlign === "center" ? "middle" : "start";
    this.#drawn.push(
      `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${this.fillStyle}">${escapeText(text)}</text>`,
    );
  }

  svg(width: number, height: number): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">${this.#drawn.join("")}</svg>`;
  }
}
