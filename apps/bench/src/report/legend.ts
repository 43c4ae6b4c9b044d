/** The legend of the timelines. */

import { swatchOf } from './chart.ts'
import { type Html, html } from './html.ts'
import { boundMark, marksOf } from './marks.ts'
import type { Parts } from './parts.ts'

export function legend(hasBound: boolean): Html {
  return html`<ul class="legend">
${WORDS.map(([parts, words]) => html`<li>${swatchOf(marksOf(parts))} ${words}</li>\n`)}${
  hasBound ? html`<li>${swatchOf([boundMark(13, 12)])} physical bound: no run can be shorter</li>` : undefined
}
</ul>`
}

const ALL = { from: 0, to: 26, top: 0, bottom: 12 }

const WORDS: readonly (readonly [Partial<Parts>, string])[] = [
  [
    { streams: [ALL], writes: [4.5, 10.5, 16.5, 22.5].map((at) => ({ at, top: 2, bottom: 10 })) },
    'the model streams, a tick per write',
  ],
  [{ waits: [{ from: 3, to: 26, middle: 6 }] }, 'arguments complete, tool waits'],
  [{ calls: [{ ...ALL, top: 2, bottom: 10 }] }, 'tool runs'],
  [{ saved: [ALL] }, 'saved against parallel'],
]
