import { scriptedModel } from '@meanwhile/assemble/testing'
import { ConfigError, createAgent } from '@meanwhile/core'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'

const threads = createThreads({ agent: createAgent({ model: scriptedModel([]) }), store: memoryThreads() })
const open = () => undefined

const WRONG = [
  [undefined, 'threads'],
  [{ open }, 'threads'],
  [createAgent({ model: scriptedModel([]) }), 'options'],
  [threads, 'options'],
  [{ threads }, 'open'],
  [{ threads, open, opens: 1 }, 'opens'],
  [{ threads, open, base: 'chat' }, 'base'],
  [{ threads, open, output: 'none' }, 'output'],
  [{ threads, open, errorText: 'none' }, 'errorText'],
  [{ threads, open, allow: true }, 'allow'],
  [{ threads, open, onError: console }, 'onError'],
  [{ threads, open, maxBytes: 0 }, 'maxBytes'],
  [{ threads, open, maxBytes: 1.5 }, 'maxBytes'],
  [{ threads, open, maxBytes: '10MB' }, 'maxBytes'],
  [{ threads, open, files: true }, 'files'],
  [{ threads, open, files: { type: ['image/*'] } }, 'files.type'],
  [{ threads, open, files: { types: 'image/*' } }, 'files.types'],
  [{ threads, open, files: { types: ['png'] } }, 'files.types'],
  [{ threads, open, files: { maxBytes: -1 } }, 'files.maxBytes'],
  [{ threads, open, files: { urls: 'http' } }, 'files.urls'],
] as const

const handlers = { chatHandler, agUiHandler } as Record<string, (options: never) => unknown>

function optionAtFault(handler: string, options: unknown): unknown {
  try {
    return handlers[handler]?.(options as never)
  } catch (error) {
    return error instanceof ConfigError ? error.option : error
  }
}

test.for(Object.keys(handlers))('%s names the invalid option (UI4)', (handler) => {
  for (const [options, option] of WRONG) expect(optionAtFault(handler, options)).toBe(option)
})

test('chatHandler only accepts versions 6 and 7 (UI4)', () => {
  for (const [options, option] of [
    [{ threads, open, version: 5 }, 'version'],
    [{ threads, open, version: '7' }, 'version'],
    [{ threads, open, hold: 'yes' }, 'hold'],
  ] as const)
    expect(optionAtFault('chatHandler', options)).toBe(option)
  expect(() => chatHandler({ threads, open, version: '7' } as never)).toThrow("must be 6 or 7, not '7'")
})
