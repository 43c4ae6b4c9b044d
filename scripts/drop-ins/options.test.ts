import { expect, test } from 'vitest'
import { LIBRARIES } from './libraries.ts'
import { dropInsOptions, helpText, OptionError } from './options.ts'

test('a path is checked, with models that stream at a pace if --paced is set', () => {
  expect(dropInsOptions(['../ai'])).toEqual({ path: '../ai', paced: false, add: 'eager', minutes: 30 })
  expect(dropInsOptions(['--paced', '../ai', '--minutes', '5'])).toEqual({
    path: '../ai',
    paced: true,
    add: 'eager',
    minutes: 5,
  })
  expect(dropInsOptions(['--resilient', '../ai'])).toMatchObject({ add: 'resilient' })
  expect(dropInsOptions(['--help'])).toBe('help')
})

test.each([
  [[], 'name the path of a checkout'],
  [['a', 'b'], 'only one path can be checked at a time, not a and b'],
  [['a', '--fast'], "Unknown option '--fast'"],
  [['a', '--minutes', 'two'], '--minutes must be a number from 1 to 1440, not two'],
  [['a', '--minutes', '0.2'], '--minutes must be a number from 1 to 1440, not 0.2'],
  [['a', '--minutes', '0'], '--minutes must be a number from 1 to 1440, not 0'],
])('%j is an error that names what is wrong', (args, message) => {
  expect(() => dropInsOptions(args)).toThrow(OptionError)
  expect(() => dropInsOptions(args)).toThrow(message)
})

test('--help names every library and option', () => {
  for (const { repository } of LIBRARIES) expect(helpText()).toContain(repository)
  for (const option of ['--paced', '--resilient', '--minutes', '--help']) expect(helpText()).toContain(option)
})
