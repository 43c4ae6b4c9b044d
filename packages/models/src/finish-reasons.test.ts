import { expect, test } from 'vitest'
import { finishReasonOf } from './finish-reasons.ts'

test.each([
  ['stop', 'stop', 'STOP', 'end_turn', 'endTurn', 'stop_sequence', 'eos', 'COMPLETE', 'FinishReason.STOP'],
  ['tool-calls', 'tool_calls', 'tool-calls', 'TOOL_CALLS', 'TOOL_CALL', 'toolUse', 'function_call', 'requires_action'],
  ['length', 'length', 'MAX_TOKENS', 'max-tokens', 'max_output_tokens', 'model_context_window_exceeded'],
  ['content-filter', 'content_filter', 'content-filter', 'SAFETY', 'PROHIBITED_CONTENT', 'refusal', 'sensitive'],
  ['error', 'error', 'MALFORMED_FUNCTION_CALL', 'function_call_filter: MALFORMED_FUNCTION_CALL', 'abort'],
  [
    'other',
    'OTHER',
    'pause_turn',
    'LANGUAGE',
    'FINISH_REASON_UNSPECIFIED',
    'a_new_word',
    'nonstop',
    '',
    '…',
    '__proto__',
  ],
] as const)('%s is the finish reason for these words, however they are written (qC43)', (reason, ...words) => {
  expect(words.map((word) => [word, finishReasonOf(word)])).toEqual(words.map((word) => [word, reason]))
})

test('without a word the finish reason is other (qC43)', () => {
  expect([finishReasonOf(undefined), finishReasonOf(null)]).toEqual(['other', 'other'])
})
