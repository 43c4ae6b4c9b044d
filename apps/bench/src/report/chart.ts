/** A picture by Observable Plot, as text: twice, for a telephone and for all that is wider, of which style.css shows one. */

import { type Markish, type PlotOptions, plot } from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { Html, html } from './html.ts'

export interface Chart {
  /** Unique on the page. */
  readonly id: string
  /** What is to be seen, for who does not see it. */
  readonly title: string
  readonly description: string
  /** How it is drawn in so many pixels of width. `height` is needed. */
  draw(width: number): Drawing
}

export type Drawing = PlotOptions & { readonly height: number }

/** In pixels. Shown as wide as there is room, and its text with it. */
const WIDTHS = { wide: 820, narrow: 380 } as const

export function chartOf({ id, title, description, draw }: Chart): Html {
  return html`${Object.entries(WIDTHS).map(([name, width]) => {
    const [titleId, descriptionId] = [`${id}-${name}-title`, `${id}-${name}-desc`]
    const drawing = { ...draw(width), width }
    return html`<svg class="chart ${name}" role="img" aria-labelledby="${titleId}" aria-describedby="${descriptionId}" viewBox="0 0 ${width} ${drawing.height}">
<title id="${titleId}">${title}</title>
<desc id="${descriptionId}">${description}</desc>
${inside(drawing)}
</svg>
`
  })}`
}

/** What one thing in a picture looks like, for a legend. */
export function swatchOf(marks: Markish[]): Html {
  const [width, height] = [26, 12]
  const frame = { margin: 0, width, height, x: { ...PIXELS, axis: null }, y: { ...PIXELS, axis: null } }
  return html`<svg class="swatch" aria-hidden="true" width="${width}" height="${height}">${inside({ ...frame, marks })}</svg>`
}

/** A scale of which one is one pixel. */
export const PIXELS = { type: 'identity' } as const

const { document } = parseHTML('<html></html>')

function inside(options: PlotOptions): Html {
  const drawn: Element = plot({ ...options, document })
  // Plot gives each picture a style sheet, which style.css has once, and its parts names, which a part of a picture cannot have.
  for (const style of drawn.querySelectorAll('style')) style.remove()
  for (const part of drawn.querySelectorAll('[aria-label]')) part.removeAttribute('aria-label')
  return new Html(drawn.innerHTML)
}

/** As much of the DOM as is needed. */
interface Element {
  readonly innerHTML: string
  querySelectorAll(selector: string): Iterable<{ remove(): void; removeAttribute(name: string): void }>
}
