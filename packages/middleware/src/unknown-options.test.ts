import { scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import * as all from './index.ts'

const backend = all.memoryBackend()
const models = [scriptedModel([])]

/** The required options of each factory, a misspelt option, and the correct name. */
const factories: Readonly<Record<string, readonly [required: object, misspelt: string, meant: string]>> = {
  agentsMd: [{ backend }, 'file', 'files'],
  answerGuard: [{}, 'maxRejection', 'maxRejections'],
  approve: [{ tools: [] }, 'tool', 'tools'],
  callLimits: [{}, 'toolcalls', 'toolCalls'],
  clearToolResults: [{}, 'keepStep', 'keepSteps'],
  earlyStop: [{}, 'instructions', 'instruction'],
  fallbackModel: [{ models }, 'model', 'models'],
  filesystem: [{ backend }, 'readonly', 'readOnly'],
  guard: [{ input: () => ({ pass: true }) }, 'blocks', 'block'],
  offloadToolResults: [{ backend }, 'maxByte', 'maxBytes'],
  patchToolCalls: [{}, 'texts', 'text'],
  planTasks: [{}, 'files', 'file'],
  redact: [{}, 'pattern', 'patterns'],
  retryModel: [{}, 'retries', 'maxRetries'],
  retryTool: [{}, 'maxAttempts', 'maxRetries'],
  skills: [{ backend }, 'folder', 'folders'],
  standard: [{}, 'retry', 'retryTool'],
  summarize: [{}, 'trigger', 'at'],
  timeout: [{}, 'tools', 'tool'],
  toolSearch: [{ tools: [] }, 'limit', ''],
  visibleText: [{ tools: [] }, 'tool', 'tools'],
}

/** Other exports of the package. */
const OTHERS =
  /Error$|^[A-Z_]+$|^(addressPatterns|countTokens|isPendingApproval|memoryBackend|pathSegments|secretPatterns)$/

test('each existing factory is in the list (P23)', () => {
  expect(Object.keys(factories).toSorted()).toEqual(
    Object.keys(all)
      .filter((name) => !OTHERS.test(name))
      .toSorted(),
  )
})

test.each(Object.entries(factories))(
  'an option that %s does not have is a ConfigError that names the nearest (P23)',
  (name, [required, misspelt, meant]) => {
    const make = (all as Readonly<Record<string, unknown>>)[name] as (options: object) => unknown
    const made = (given: object) => () => make({ ...required, ...given })
    expect(made({ [misspelt]: undefined })).not.toThrow()
    const hint = meant ? `did you mean ${meant}?` : 'the options are: tools, toolName, maxResults'
    const error = {
      name: 'ConfigError',
      option: misspelt,
      message: `${misspelt}: is not an option of ${name}; ${hint}`,
    }
    expect(made({ [misspelt]: 1 })).toThrow(expect.objectContaining(error))
  },
)

test.each<[string, () => unknown]>([
  ['at.token', () => all.clearToolResults({ at: { tokens: 1, token: 1 } as never })],
  ['at.message', () => all.summarize({ at: { message: 3 } as never })],
  ['keep.step', () => all.summarize({ keep: { step: 3 } as never })],
  ['maxRetry', () => all.standard({ retryModel: { maxRetry: 1 } as never })],
])('so is one inside an option: %s (P23)', (option, make) => {
  expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})
