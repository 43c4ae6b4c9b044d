import { expect, test } from 'vitest'
import { createToolExecutor, eagerTools } from './index.ts'

test.each<[string, string, () => unknown]>([
  ['polcy', 'eagerTools; did you mean policy?', () => eagerTools({ polcy: 'early' } as object)],
  ['budget.tolerance', 'budget; did you mean toleranceMs?', () => eagerTools({ budget: { tolerance: 1 } as object })],
  ['polcy', 'createToolExecutor; did you mean policy?', () => createToolExecutor({ polcy: 'early' } as object)],
  [
    'maxSteps',
    'createToolExecutor; the options are: wire, model, ',
    () => createToolExecutor({ maxSteps: 3 } as object),
  ],
])('an unknown option %s is a ConfigError: %s (P23)', (option, hint, make) => {
  const message = expect.stringContaining(`${option}: is not an option of ${hint}`) as string
  expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option, message }))
})
