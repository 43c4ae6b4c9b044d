/** Which times and shares of a text are not those of the figures. */

import { type Figures, type PicturedScenario, type Runs, seconds, soonerBy } from './figures.ts'

/** A line is about the scenario that these words describe; without them, it is about the picture. */
const ABOUT: readonly (readonly [words: RegExp, scenario: PicturedScenario])[] = [
  [/one call, then|hero-b-/i, 'b'],
  [/equally long/i, 'a'],
]

/** A sentence for each wrong one. Other times and shares may not stand in the text. */
export function wrongFigures(text: string, figures: Figures): readonly string[] {
  return text.split('\n').flatMap((line, index) => {
    const scenario = ABOUT.find(([words]) => words.test(line))?.[1] ?? 'f'
    const right = rightFigures(figures.scenarios[scenario])
    return named(line)
      .filter((figure) => !right.includes(figure))
      .map(
        (figure) =>
          `line ${index + 1}: ${figure} is not a figure of scenario ${scenario}, which has ${right.join(', ')}`,
      )
  })
}

function rightFigures(runs: Runs): readonly string[] {
  return [...Object.values(runs).map((run) => `${seconds(run)} s`), `${soonerBy(runs)} %`]
}

/** `2.9 s`, `2.9 seconds` and `33 %`. */
function named(line: string): readonly string[] {
  const found = line.matchAll(/(\d+(?:\.\d+)?)\s*(%|s\b|seconds?\b)/g)
  return [...found].map(([, number, unit]) => `${number} ${unit === '%' ? unit : 's'}`)
}
