/** Draws a picture with Observable Plot as text: twice, for phones and for wider screens; style.css shows one of them. */

import { type Markish, type PlotOptions, plot } from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { Html, html } from './html.ts'

export interface Chart {
  /** Unique on the page. */
  readonly id: string
  /** A description for people who do not see the picture. */
  readonly title: string
  readonly description: string
  /** Draws it at this width in pixels. `height` is required. */
  draw(width: number): Drawing
}

export type Drawing = PlotOptions & { readonly height: number }

/** In pixels. Shown as wide as possible, with its text. */
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

/** A sample of one item of a picture, for a legend. */
export function swatchOf(marks: Markish[]): Html {
  const [width, height] = [26, 12]
  const frame = { margin: 0, width, height, x: { ...PIXELS, axis: null }, y: { ...PIXELS, axis: null } }
  return html`<svg class="swatch" aria-hidden="true" width="${width}" height="${height}">${inside({ ...frame, marks })}</svg>`
}

/** A scale on which one is one pixel. */
export const PIXELS = { type: 'identity' } as const

const { document } = parseHTML('<html></html>')

function inside(options: PlotOptions): Html {
  const drawn: Element = plot({ ...options, document })
  // Plot adds a style sheet to each picture, which style.css has once, and names to its parts, which a part of a picture cannot have.
  for (const style of drawn.querySelectorAll('style')) style.remove()
  for (const part of drawn.querySelectorAll('[aria-label]')) part.removeAttribute('aria-label')
  return new Html(drawn.innerHTML)
}

/** The part of the DOM that is used. */
interface Element {
  readonly innerHTML: string
  querySelectorAll(selector: string): Iterable<{ remove(): void; removeAttribute(name: string): void }>
}
