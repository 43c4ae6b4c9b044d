/** The ids and names of calls and items. */

import { callsOf, each, entriesOf, toolsOf, whole } from './finds.ts'
import { OPENAI_HOSTS } from './hosts.ts'
import type { Call, Reading, Result } from './reading.ts'
import { ANTHROPIC_TYPES, type Found, KNOWN, OPENAI_SPEC, type RuleData, seen } from './rule.ts'
import { isText, repeated } from './values.ts'

/** Every id of a call, at calls and at results. */
const idsOf = ({ calls, results }: Reading): readonly (Call | Result)[] => [...calls, ...results]

function isName(value: unknown, most: number): boolean {
  return isText(value) && value.length <= most && /^[a-zA-Z0-9_-]+$/.test(value)
}

const PREFIXES = new Map<unknown, string>([
  ['reasoning', 'rs'],
  ['message', 'msg'],
  ['function_call', 'fc'],
  ['web_search_call', 'ws'],
])

const PATTERN = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
const LONG = 'string too long. Expected a string with maximum length'

export const ids: readonly RuleData[] = [
  {
    id: 'chat/call-name',
    sure: 'certain',
    says: `Invalid '{path}': ${PATTERN}`,
    sources: OPENAI_SPEC,
    finds: each(callsOf, ({ name }) => name !== undefined && !isName(name, 64), '.function.name'),
    bad: { 'messages[2].tool_calls[0].function.name': 'get weather' },
  },
  {
    id: 'chat/call-id-length',
    sure: 'likely',
    hosts: OPENAI_HOSTS,
    says: `Invalid '{path}': ${LONG} 40, but got a string with length {length} instead.`,
    sources: [
      ...seen('2026-01', 'openclaw#875 (40, then 64)', 'agno#5382', 'litellm#17343', 'autogen#6377'),
      ...seen('2026-07', 'vercel/ai#17233: a request with 51 characters was accepted, so the rule says 64'),
    ],
    finds: each(callsOf, ({ id }) => isText(id) && id.length > 64 && { length: id.length }, '.id'),
    bad: { 'messages[2].tool_calls[0].id': 'c'.repeat(65), 'messages[4].tool_call_id': 'c'.repeat(65) },
  },
  {
    id: 'chat/call-id-empty',
    sure: 'likely',
    says: "Invalid '{path}': empty string",
    sources: KNOWN,
    finds: each(callsOf, ({ id }) => id === '', '.id'),
    bad: { 'messages[2].tool_calls[0].id': '', 'messages[4].tool_call_id': '' },
  },
  {
    id: 'chat/mistral-call-id',
    sure: 'host',
    hosts: ['mistral'],
    says: 'Tool call id was {value} but must be a-z, A-Z, 0-9, with a length of 9.',
    sources: seen(
      '2026-04',
      'zed#53034',
      'ironclaw#1241',
      'avante#2951',
      'gptel#1203',
      'langchain#24668',
      'opencode#1680',
    ),
    finds: each(callsOf, ({ id }) => !(isText(id) && /^[a-zA-Z0-9]{9}$/.test(id)) && { value: id }, '.id'),
    bad: { 'messages[2].tool_calls[0].id': 'call_1', 'messages[4].tool_call_id': 'call_1' },
  },
  {
    id: 'chat/tool-name',
    sure: 'certain',
    says: `Invalid '{path}': ${PATTERN}`,
    sources: OPENAI_SPEC,
    finds: each(toolsOf, ({ name }) => !isName(name, 64), '.name'),
    bad: { 'tools[0].function.name': 'weather.now' },
  },
  {
    id: 'chat/tool-name-first',
    sure: 'host',
    hosts: ['moonshot'],
    says: 'function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes',
    sources: seen('2026-04', 'MoonshotAI/kimi-cli#1773'),
    finds: each(toolsOf, ({ name }) => isText(name) && !/^[a-zA-Z]/.test(name), '.name'),
    bad: { 'tools[0].function.name': '_weather' },
  },
  {
    id: 'chat/gemini-tool-name-first',
    sure: 'host',
    hosts: ['gemini'],
    says: 'Invalid function name. Must start with a letter or an underscore.',
    sources: seen('2026-04', 'ccs#25', 'cline#7339', '9router#369'),
    finds: each(toolsOf, ({ name }) => isText(name) && !/^[a-zA-Z_]/.test(name), '.name'),
    bad: { 'tools[0].function.name': '-weather' },
  },
  {
    id: 'chat/tool-name-twice',
    sure: 'host',
    hosts: ['moonshot', 'gemini', 'deepseek'],
    says: 'function name {name} is duplicated',
    sources: seen(
      '2026-11',
      'Moonshot',
      'Gemini: "Duplicate function declaration found"',
      'DeepSeek: "Tool names must be unique."',
    ),
    finds: whole('tools', ({ tools }) => {
      const name = repeated(tools.map((tool) => tool.name))
      return name !== undefined && { name }
    }),
    bad: { 'tools[1]': { type: 'function', function: { name: 'weather' } } },
  },
  {
    id: 'responses/call-name',
    sure: 'certain',
    says: `Invalid '{path}': ${PATTERN}`,
    sources: OPENAI_SPEC,
    finds: each(callsOf, ({ name }) => !isName(name, 128), '.name'),
    bad: { 'input[2].name': 'get weather' },
  },
  {
    id: 'responses/call-id-length',
    sure: 'certain',
    says: `Invalid '{path}': ${LONG} 64, but got a string with length {length} instead.`,
    sources: [...OPENAI_SPEC, ...seen('2026-06', 'agentgateway#3342', '9router#393', 'pi-cursor-sdk#237')],
    finds: each(idsOf, ({ id }) => isText(id) && (id === '' || id.length > 64) && { length: id.length }, '.call_id'),
    bad: { 'input[2].call_id': 'c'.repeat(65), 'input[3].call_id': 'c'.repeat(65) },
  },
  {
    id: 'responses/item-twice',
    sure: 'certain',
    says: 'Duplicate item found with id {id}. Remove duplicate items from your input and try again.',
    sources: seen('2026-06', 'vscode#321977', 'OpenRouterTeam/ai-sdk-provider#254'),
    finds: whole('input', ({ entries }) => {
      const id = repeated(entries.flatMap(({ value }) => (value.id ? [value.id] : [])))
      return id !== undefined && { id }
    }),
    bad: { 'input[4].id': 'rs_1' },
  },
  {
    id: 'responses/item-id',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: "Invalid '{path}': '{id}'. Expected an ID that begins with '{prefix}'.",
    sources: seen('2026-06', 'langchainjs#11045'),
    finds: each(
      entriesOf,
      ({ type, role, value: { id } }) => {
        const prefix = PREFIXES.get(type)
        if (prefix === undefined || id === undefined || id === null || role === 'user') return false
        return !(isText(id) && id.startsWith(prefix)) && { id, prefix }
      },
      '.id',
    ),
    bad: { 'input[4].id': 'thought-2' },
  },
  {
    id: 'responses/tool-name',
    sure: 'certain',
    says: `Invalid '{path}': ${PATTERN}`,
    sources: [...OPENAI_SPEC, ...seen('2026-11', 'at most 128; 64 was quoted until 2025')],
    finds: each(toolsOf, ({ name }) => !isName(name, 128), '.name'),
    bad: { 'tools[0].name': 'weather.now' },
  },
  {
    id: 'messages/use-id',
    sure: 'certain',
    says: "{path}: String should match pattern '^[a-zA-Z0-9_-]+$'",
    sources: seen(
      '2026-08',
      'claude-code-router#1808',
      'bifrost#5097',
      'langchain#37756',
      'vscode#325813',
      'cc-switch#1181',
    ),
    finds: function* ({ calls, results }): Generator<Found, void, undefined> {
      const isId = (id: unknown): boolean => isName(id, Number.POSITIVE_INFINITY)
      for (const { path, id } of calls) if (!isId(id)) yield { path: `${path}.tool_use.id` }
      for (const { path, id } of results) if (!isId(id)) yield { path: `${path}.tool_result.tool_use_id` }
    },
    bad: {
      'messages[1].content[1].id': 'functions.weather:0',
      'messages[2].content[1].tool_use_id': 'functions.weather:0',
    },
  },
  {
    id: 'messages/use-name',
    sure: 'certain',
    says: "{path}: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    sources: seen('2026-09', 'claude-code#96152'),
    finds: each(callsOf, ({ name }) => !isName(name, 128), '.tool_use.name'),
    bad: { 'messages[1].content[1].name': 'get weather' },
  },
  {
    id: 'messages/tool-name',
    sure: 'certain',
    says: "{path}: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    sources: seen('2026-09', 'claude-code#96152'),
    finds: each(toolsOf, ({ name }) => !isName(name, 128), '.name'),
    bad: { 'tools[0].name': 'weather.now' },
  },
  {
    id: 'messages/tool-name-twice',
    sure: 'certain',
    says: 'tools: Tool names must be unique.',
    sources: [...seen('2026-05', 'LibreChat#13162'), ...ANTHROPIC_TYPES],
    finds: whole('tools', ({ tools }) => repeated(tools.map(({ name }) => name)) !== undefined),
    bad: { 'tools[1]': { name: 'weather', input_schema: { type: 'object' } } },
  },
]
