import { scriptedModel } from '@meanwhile/core/testing'
import { expect, test } from 'vitest'
import * as all from './index.ts'

const backend = all.memoryBackend()
const models = [scriptedModel([])]

/** What each needs, an option that is misspelt, and what it was meant to be. */
const factories: Readonly<Record<string, readonly [required: object, misspelt: string, meant: string]>> = {
  agentsMd: [{ backend }, 'file', 'files'],
  answerGuard: [{}, 'maxRejection', 'maxRejections'],
  approve: [{ tools: [] }, 'tool', 'tools'],
  callLimits: [{}, 'toolcalls', 'toolCalls'],
  clearToolResults: [{}, 'keepStep', 'keepSteps'],
  earlyStop: [{}, 'instructions', 'instruction'],
  fallbackModel: [{ models }, 'model', 'models'],
  filesystem: [{ backend }, 'readonly', 'readOnly'],
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
}

/** What the package exports beside its factories. */
const OTHERS = /Error$|^[A-Z_]+$|^(countTokens|isPendingApproval|memoryBackend|pathSegments|secretPatterns)$/

test('an option that a middleware does not have is a ConfigError that names the nearest (P23)', () => {
  const names = Object.keys(all).filter((name) => !OTHERS.test(name))
  expect(Object.keys(factories).toSorted()).toEqual(names.toSorted())
  for (const [name, make] of Object.entries(all)) {
    const [required, misspelt, meant] = factories[name] ?? []
    if (!required || !misspelt) continue
    const made = (given: object) => () => (make as (options: object) => unknown)({ ...required, ...given })
    expect(made({}), name).not.toThrow()
    expect(made({ [misspelt]: undefined }), name).not.toThrow()
    const hint = meant ? `did you mean ${meant}?` : 'there are tools, toolName, maxResults'
    const error = { name: 'ConfigError', option: misspelt, message: `${misspelt}: is no option of ${name}; ${hint}` }
    expect(made({ [misspelt]: 1 }), name).toThrow(expect.objectContaining(error))
    expect(made({ nonsense: 1 }), name).toThrow(expect.objectContaining({ option: 'nonsense' }))
  }
})

test.each<[string, () => unknown]>([
  ['at.token', () => all.clearToolResults({ at: { tokens: 1, token: 1 } as never })],
  ['at.message', () => all.summarize({ at: { message: 3 } as never })],
  ['keep.step', () => all.summarize({ keep: { step: 3 } as never })],
  ['maxRetry', () => all.standard({ retryModel: { maxRetry: 1 } as never })],
])('so is one inside an option: %s (P23)', (option, make) => {
  expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})
