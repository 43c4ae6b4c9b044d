/** Fails a response that says that it calls tools and contains no call: its host has lost the calls. */

import type { Assembler, ReadChunk } from '@meanwhile/assemble'
import type { FailedEnd } from './stop-reason.ts'

/**
 * Returns the same reader. A response with the finish reason `tool-calls` and without a call, not even a call of the
 * provider's own tools, ends with the retryable error `missing_calls`, even if it has text. Calls may follow the finish reason.
 */
export function refuseMissingCalls<Chunk>(read: ReadChunk<Chunk>): ReadChunk<Chunk> {
  let watched: Assembler | undefined
  return (chunk, to) => {
    watched ??= watching(to)
    read(chunk, watched)
  }
}

function watching(to: Assembler): Assembler {
  let hasCalls = false
  let isPromised = false
  let word: string | undefined

  function called(): void {
    if (hasCalls) return
    hasCalls = true
    if (isPromised) to.finish('tool-calls')
  }

  return {
    text: (delta, options) => to.text(delta, options),
    reasoning: (delta, options) => to.reasoning(delta, options),
    isWhole: (label) => to.isWhole(label),
    usage: (usage) => to.usage(usage),
    call(label, piece) {
      to.call(label, piece)
      called()
    },
    seal(label, text) {
      to.seal(label, text)
      called()
    },
    response(info) {
      word = info.finishReason ?? word
      to.response(info)
    },
    finish(reason) {
      isPromised = reason === 'tool-calls'
      to.finish(isPromised && !hasCalls ? missing(word) : reason)
    },
  }
}

function missing(word = 'tool-calls'): FailedEnd {
  return { code: 'missing_calls', message: `the finish reason is ${word}, but the response contains no call` }
}
