import { expect, test } from 'vitest'
import { FIGURE_NAMES } from './figures.ts'
import { helpText, OptionError, shapeOptions } from './options.ts'

test('without options the figures are checked, and nothing is written', () => {
  expect(shapeOptions([])).toEqual({ help: false, write: false })
  expect(shapeOptions(['--write'])).toEqual({ help: false, write: true })
  expect(shapeOptions(['--list', 'lines'])).toEqual({ help: false, write: false, list: 'lines' })
})

test.each([
  [['--list'], "'--list <value>' argument missing"],
  [['--list', 'coffees'], 'no figure is called coffees; the figures are agent-kb, '],
  [['--list', 'lines', '--write'], '--list cannot be combined with --write'],
  [['--lower'], "Unknown option '--lower'"],
  [['lines'], 'Unexpected argument'],
])('%j is an error that names what is wrong', (args, message) => {
  expect(() => shapeOptions(args)).toThrow(OptionError)
  expect(() => shapeOptions(args)).toThrow(message)
})

test('--help names every option and what every figure counts', () => {
  for (const option of ['--write', '--list <figure>', '--help']) expect(helpText()).toContain(option)
  for (const name of FIGURE_NAMES) expect(helpText()).toContain(`  ${name}: `)
})
