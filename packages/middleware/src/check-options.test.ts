import { scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import {
  answerGuard,
  approve,
  callLimits,
  clearToolResults,
  fallbackModel,
  filesystem,
  memoryBackend,
  offloadToolResults,
  redact,
  retryModel,
  retryTool,
  summarize,
  timeout,
  toolSearch,
} from './index.ts'

// Values that the types forbid. Ranges of numbers are in the tests of each middleware.

const backend = memoryBackend()
const models = [scriptedModel([])]

const refused: readonly (readonly [option: string, make: (options: never) => unknown, options: unknown])[] = [
  ['options', callLimits, undefined],
  ['options', callLimits, null],
  ['options', callLimits, [20]],
  ['when', retryModel, { when: 'always' }],
  ['random', retryModel, { random: 0.5 }],
  ['when', retryTool, { when: true }],
  ['tools', retryTool, { tools: 'send_mail' }],
  ['tools', retryTool, { tools: [7] }],
  ['models', fallbackModel, { models: ['gpt-5.1'] }],
  ['when', fallbackModel, { models, when: 429 }],
  ['prepare', fallbackModel, { models, prepare: {} }],
  ['tools', approve, { tools: [{ name: 'send_mail' }] }],
  ['ask', approve, { tools: ['send_mail'], ask: 'me' }],
  ['check', answerGuard, { check: /sorry/ }],
  ['tools', filesystem, { backend, tools: 4 }],
  ['tools', filesystem, { backend, tools: 'ls' }],
  ['model', summarize, { model: 'gpt-5.1-mini' }],
  ['countTokens', summarize, { countTokens: 4 }],
  ['countTokens', clearToolResults, { countTokens: 4 }],
  ['exclude', clearToolResults, { exclude: [/read/] }],
  ['on', redact, { on: 'request' }],
  ['replace', redact, { replace: '[secret]' }],
]

const numbers: readonly (readonly [option: string, make: (options: never) => unknown, options?: object])[] = [
  ['maxRetries', retryModel],
  ['baseDelay', retryModel],
  ['maxBytes', filesystem, { backend }],
  ['preview', offloadToolResults, { backend }],
  ['maxResults', toolSearch, { tools: [] }],
  ['model', timeout],
]

test.for(numbers)('the error for a wrong number of %s shows what it is (A2)', ([option, make, options]) => {
  for (const [given, shown] of [
    ['3', "'3'"],
    [Number.NaN, 'NaN'],
    [{ n: 3 }, 'an object'],
  ] as const)
    expect(() => make({ ...options, [option]: given } as never)).toThrow(
      expect.objectContaining({
        name: 'ConfigError',
        option,
        message: expect.stringMatching(`, not ${shown}$`) as string,
      }),
    )
})

test.for(refused)('an invalid %s of %o is refused with a ConfigError that names it (A2)', ([option, make, options]) => {
  expect(() => make(options as never)).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})
