import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const sheet = readFileSync(new URL('family.css', import.meta.url), 'utf8')

const TEXT = 4.5
const MARK = 3

/** What stands on what, and how far apart they must be. */
const PAIRS = [
  ['ink', 'paper', TEXT],
  ['ink', 'panel', TEXT],
  ['ink', 'ask-tint', TEXT],
  ['muted', 'paper', TEXT],
  ['muted', 'panel', TEXT],
  ['muted', 'canopy', TEXT],
  ['accent', 'paper', TEXT],
  ['accent', 'panel', TEXT],
  ['on-accent', 'accent', TEXT],
  ['edge', 'paper', MARK],
  ['edge', 'panel', MARK],
  ['stream', 'paper', TEXT],
  ['stream', 'ribbon', MARK],
  ['ribbon-text', 'ribbon', TEXT],
  ['tool', 'paper', MARK],
  ['tool', 'canopy', MARK],
  ['on-tool', 'tool', TEXT],
  ['idempotent', 'canopy', MARK],
  ['reversible', 'canopy', MARK],
  ['external', 'canopy', MARK],
  ['calls', 'canopy', MARK],
  ['unknown', 'canopy', MARK],
  ['wait', 'paper', TEXT],
  ['wait', 'canopy', TEXT],
  ['wait', 'ask-tint', TEXT],
  ['saved', 'paper', TEXT],
  ['saved', 'saved-tint', TEXT],
  ['bad', 'paper', TEXT],
  ['bad', 'panel', TEXT],
  ['bad', 'bad-tint', TEXT],
] as const

test('on light and on dark, texts have a contrast of at least 4.5 to what they stand on, and marks and borders one of at least 3', () => {
  const tooClose = ['light', 'dark'].flatMap((scheme) =>
    PAIRS.flatMap(([front, back, least]) => {
      const ratio = contrast(colour(front, scheme), colour(back, scheme))
      return ratio < least ? [`${front} on ${back}, ${scheme}: ${ratio.toFixed(2)}`] : []
    }),
  )
  expect(tooClose).toEqual([])
})

/** As three numbers from 0 to 255. Each colour has a light and a dark form. */
function colour(name: string, scheme: string): readonly number[] {
  const [, light = '', dark = ''] = sheet.match(new RegExp(`--${name}: light-dark\\(#(\\w+), #(\\w+)\\)`)) ?? []
  const digits = scheme === 'light' ? light : dark
  const pairs = (digits.length === 3 ? digits.replaceAll(/./g, '$&$&') : digits).match(/../g) ?? []
  expect([name, pairs.length]).toEqual([name, 3])
  return pairs.map((pair) => Number.parseInt(pair, 16))
}

/** The contrast of WCAG 2. */
function contrast(one: readonly number[], other: readonly number[]): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(colour: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = colour.map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
