/** The files of the pictures: a pure function of the figures, so that a check can draw them again. */

import { type Figures, PICTURED } from './figures.ts'
import { heroOf } from './hero.ts'
import { NARROW, WIDE } from './size.ts'

export interface PictureFile {
  readonly name: string
  readonly text: string
}

export const FIGURES_FILE = 'figures.json'

/** `hero-f-narrow-dark-moving.svg` and the like; the figures themselves come last. */
export function pictureFiles(figures: Figures): readonly PictureFile[] {
  const pictures = (['f', 'b'] as const).flatMap((scenario) =>
    [WIDE, NARROW].flatMap((size) =>
      (['light', 'dark'] as const).flatMap((scheme) =>
        [false, true].map((moving) => ({
          name: `hero-${scenario}${size === NARROW ? '-narrow' : ''}-${scheme}${moving ? '-moving' : ''}.svg`,
          text: heroOf(figures.scenarios[scenario], { scenario, size, scheme, moving }),
        })),
      ),
    ),
  )
  return [...pictures, { name: FIGURES_FILE, text: textOf(figures) }]
}

/** A run on one line: a person compares runs, not times. */
function textOf({ command, scenarios }: Figures): string {
  const text = PICTURED.map((id) => {
    const runs = Object.entries(scenarios[id]).map(([mode, run]) => `      "${mode}": ${JSON.stringify(run)}`)
    return `    "${id}": {\n${runs.join(',\n')}\n    }`
  })
  return `{\n  "command": ${JSON.stringify(command)},\n  "scenarios": {\n${text.join(',\n')}\n  }\n}\n`
}
