/** Quirks of OpenAI Responses, and of hosts that imitate it. */

import type { Quirk } from './quirk.ts'
import { called, f, second, whole, wire } from './responses-calls.ts'
import {
  call,
  completed,
  created,
  incomplete,
  itemAdded,
  itemDone,
  message,
  messageAt,
  messageItem,
} from './responses-events.ts'

const copilot = 'opencode#44862, opencodex#4652 (Copilot)'

const nameless = call(0, 'call_a', 'f')

const custom = { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_b', name: 'shell', input: 'echo hello' }
const approval = { id: 'mcpr_1', type: 'mcp_approval_request', server_label: 's', name: 'f', arguments: '{"x":1}' }
const shell = {
  id: 'sh_1',
  type: 'shell_call',
  call_id: 'call_a',
  status: 'completed',
  action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
  environment: { type: 'container_reference', container_id: 'cntr_1' },
}
const shellOutput = {
  id: 'sho_1',
  type: 'shell_call_output',
  call_id: 'call_a',
  status: 'completed',
  max_output_length: null,
  output: [{ stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
}

export const responsesQuirks: readonly Quirk[] = [
  {
    id: 'R1',
    wire,
    title: 'no deltas: the arguments come with function_call_arguments.done, and again with the item',
    source: copilot,
    events: [created, whole.added, whole.done('{"x":1}'), whole.itemDone('{"x":1}'), completed(whole.item('{"x":1}'))],
    expected: called,
  },
  {
    id: 'R1',
    wire,
    title: 'no deltas and no function_call_arguments.done: the arguments come with the finished item',
    source: copilot,
    events: [created, whole.added, whole.itemDone('{"x":1}'), completed(whole.item('{"x":1}'))],
    expected: called,
  },
  {
    id: 'R3',
    wire,
    title: 'items without an id, only a call_id',
    source: 'opencode#45081',
    events: [
      created,
      nameless.added,
      nameless.delta('{"x":'),
      nameless.delta('1}'),
      nameless.done('{"x":1}'),
      nameless.itemDone('{"x":1}'),
      completed(nameless.item('{"x":1}')),
    ],
    expected: called,
  },
  {
    id: 'R4',
    wire,
    title: 'output_item.done never comes',
    source: 'sglang#12652',
    events: [created, whole.added, whole.delta('{"x":1}'), whole.done('{"x":1}'), completed(whole.item('{"x":1}'))],
    expected: called,
  },
  {
    id: 'R6',
    wire,
    title: 'incomplete (max_output_tokens) with one finished and one open call',
    source: 'OpenRouter typescript-agent#125 (run none), against NeMo Gym#2628 (run the completed)',
    events: [
      created,
      whole.added,
      whole.delta('{"x":1}'),
      whole.done('{"x":1}'),
      whole.itemDone('{"x":1}'),
      second.added,
      second.delta('{"y":'),
      second.itemDone('{"y":', 'incomplete'),
      incomplete('max_output_tokens', whole.item('{"x":1}'), second.item('{"y":', 'incomplete')),
    ],
    expected: {
      calls: [
        { ...f, input: { x: 1 } },
        { id: 'call_b', name: 'g', invalid: true },
      ],
      finishReason: 'length',
    },
  },
  {
    id: 'C37',
    wire,
    title: 'one call named parallel wraps the actual calls',
    source: 'vercel/ai#19067; recorded stream',
    events: parallel(),
    expected: { calls: [{ id: 'call_p', name: 'parallel', input: wrapped() }], finishReason: 'tool-calls' },
    declared: {
      tools: [
        { name: 'f', inputSchema: { type: 'object' } },
        { name: 'g', inputSchema: { type: 'object' } },
      ],
      expected: {
        calls: [
          { name: 'f', input: { x: 1 } },
          { name: 'g', input: { y: 2 } },
        ],
        finishReason: 'tool-calls',
      },
    },
  },
  {
    id: 'C35',
    wire,
    title: 'the halves of a surrogate pair come in two deltas',
    source: 'eliza#30904, rakazo#416, imp#1554',
    events: [created, ...message('東京\ud83c', '\udf0d'), completed(messageItem('東京🌍'))],
    expected: { text: '東京🌍', calls: [], finishReason: 'stop' },
  },
  {
    id: 'R13',
    wire,
    title: 'a custom tool is called, whose input is text, next to a function',
    source: 'langchainjs#8854, llm-rosetta#182',
    events: [
      created,
      whole.added,
      whole.delta('{"x":1}'),
      whole.itemDone('{"x":1}'),
      itemAdded(1, { ...custom, input: '', status: 'in_progress' }),
      { type: 'response.custom_tool_call_input.delta', output_index: 1, item_id: 'ctc_1', delta: 'echo hello' },
      { type: 'response.custom_tool_call_input.done', output_index: 1, item_id: 'ctc_1', input: 'echo hello' },
      itemDone(1, { ...custom, status: 'completed' }),
      completed(whole.item('{"x":1}'), { ...custom, status: 'completed' }),
    ],
    expected: { error: { retryable: false }, calls: [{ ...f, input: { x: 1 } }] },
  },
  {
    id: 'R13',
    wire,
    title: 'a call of an MCP server waits for an approval',
    source: 'praxis-proxy/ai#637, openai-agents-python#2230',
    events: [created, itemAdded(0, approval), itemDone(0, approval), completed(approval)],
    expected: { error: { retryable: false }, calls: [] },
  },
  {
    id: 'R14',
    wire,
    title: 'a call of the shell is followed by its output: it ran in a container of the provider',
    source: "OpenAI's documentation of the shell tool",
    events: [
      created,
      itemAdded(0, { ...shell, status: 'in_progress' }),
      itemDone(0, shell),
      itemAdded(1, { ...shellOutput, status: 'in_progress', output: [] }),
      itemDone(1, shellOutput),
      ...messageAt(2, 'Done.'),
      completed(shell, shellOutput, messageItem('Done.')),
    ],
    expected: { text: 'Done.', calls: [], finishReason: 'stop' },
  },
]

function parallel(): readonly object[] {
  const text = JSON.stringify(wrapped())
  const events = call(0, 'call_p', 'parallel', 'fc_p')
  return [
    created,
    events.added,
    events.delta(text),
    events.done(text),
    events.itemDone(text),
    completed(events.item(text)),
  ]
}

function wrapped(): object {
  return {
    tool_uses: [
      { recipient_name: 'functions.f', parameters: { x: 1 } },
      { recipient_name: 'functions.g', parameters: { y: 2 } },
    ],
  }
}
