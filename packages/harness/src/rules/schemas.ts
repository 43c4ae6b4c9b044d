/** The schemas of functions, where no mode is strict: what every request with tools must keep. */

import { isRecord } from '@meanwhile/core/calls'
import { each, functionsOf } from './finds.ts'
import type { Host } from './hosts.ts'
import { KNOWN, type RuleData, type Source, seen } from './rule.ts'
import { within } from './schema-finds.ts'
import type { SchemaNode } from './schema-walk.ts'
import { WEATHER } from './sound.ts'
import { isText, members, nameIn } from './values.ts'

const HOSTS_THAT_CONVERT: readonly Host[] = [
  'vllm',
  'vllm-mistral',
  'vllm-gemma',
  'llamacpp',
  'mistral',
  'gemini',
  'groq',
]

const ROOT: readonly Source[] = seen(
  '2026-09',
  'alibaba/spring-ai-alibaba#4576',
  'elie222/inbox-zero#2231',
  'twentyhq/twenty#22284',
  'langchain#39271',
)

/** The rules of both wires of OpenAI; `at` is the path of the parameters of the sound body. */
function ofOpenAI(wire: 'chat' | 'responses', at: string): RuleData[] {
  const but = wire === 'chat' ? { notHosts: HOSTS_THAT_CONVERT } : {}
  return [
    {
      id: `${wire}/schema-root-type`,
      sure: 'certain',
      ...but,
      says: `Invalid schema for function '{name}': schema must be a JSON Schema of 'type: "object"', got 'type: "{type}"'.`,
      sources: ROOT,
      finds: each(functionsOf, ({ schema, name }) => {
        const { type } = members(schema)
        return type !== 'object' && { name, type: type ?? 'None' }
      }),
      bad: { [at]: { oneOf: [WEATHER] } },
    },
    {
      id: `${wire}/schema-root-union`,
      sure: 'certain',
      ...but,
      says: "Invalid schema for function '{name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
      sources: seen('2026-09', 'codebase-memory-mcp#1524', 'argent#773', 'quoted in 10 public files'),
      finds: each(functionsOf, ({ schema, name }) => {
        return nameIn(members(schema), ['oneOf', 'anyOf', 'allOf', 'enum', 'not']) !== undefined && { name }
      }),
      bad: { [`${at}.anyOf`]: [{ required: ['city'] }] },
    },
    {
      id: `${wire}/schema-root-properties`,
      sure: 'certain',
      ...but,
      says: "Invalid schema for function '{name}': In context=(), object schema missing properties.",
      sources: seen(
        '2026-05',
        'everruns/everruns#984',
        'inboxapi/cli#106',
        'tailcallhq/forgecode#1359',
        'evalstate/fast-agent#143',
      ),
      finds: each(functionsOf, ({ schema, name }) => {
        const { type, properties } = members(schema)
        return type === 'object' && !isRecord(properties) && { name }
      }),
      bad: { [at]: { type: 'object' } },
    },
    {
      id: `${wire}/schema-array-items`,
      sure: 'certain',
      ...but,
      says: "Invalid schema for function '{name}': In context={at}, array schema missing items.",
      sources: seen('2026-11', 'quoted in 7 public files, also through Together', 'cline#7339 (Gemini)'),
      finds: within(functionsOf, ({ schema }) => {
        return schema.type === 'array' && schema.items === undefined && schema.prefixItems === undefined
      }),
      bad: { [`${at}.properties.days`]: { type: 'array' } },
    },
  ]
}

const NO_FIELD = [
  'exclusiveMinimum',
  'exclusiveMaximum',
  'propertyNames',
  'patternProperties',
  'const',
  'multipleOf',
  'uniqueItems',
  'not',
  'if',
]

/** What draft 2020-12 does not have. */
function isOlderDraft({ schema }: SchemaNode): boolean {
  return (
    Array.isArray(schema.items) ||
    typeof schema.exclusiveMinimum === 'boolean' ||
    typeof schema.exclusiveMaximum === 'boolean' ||
    (schema.required !== undefined && !Array.isArray(schema.required))
  )
}

const PARAMETERS = 'tools[0].function.parameters'

export const schemas: readonly RuleData[] = [
  ...ofOpenAI('chat', PARAMETERS),
  ...ofOpenAI('responses', 'tools[0].parameters'),
  {
    id: 'chat/moonshot-schema-type',
    sure: 'host',
    hosts: ['moonshot'],
    says: "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '{at}': type is not defined>",
    sources: seen('2026-09', 'kimi-cli#1595', 'pi#5822', 'codex-router#641'),
    finds: within(functionsOf, ({ schema, keyword, inMember }) => {
      const typed = nameIn(schema, ['type', 'anyOf', '$ref', 'oneOf', 'allOf']) !== undefined
      return inMember && keyword !== 'propertyNames' && !typed
    }),
    bad: { [`${PARAMETERS}.properties.city`]: {} },
  },
  {
    id: 'chat/moonshot-schema-union',
    sure: 'host',
    hosts: ['moonshot'],
    says: "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '{at}': when using anyOf, type should be defined in anyOf items instead of the parent schema>",
    sources: seen(
      '2026-09',
      'kimi-code#2661',
      'GitNexus#2703',
      'pi-subagents#127',
      'openclaw#113462',
      'FTShare-MCP#7',
      'not reproduced on api.moonshot.cn: MiqroForge#1165',
    ),
    finds: within(functionsOf, ({ schema }) => 'anyOf' in schema && 'type' in schema),
    bad: { [`${PARAMETERS}.properties.city`]: { type: 'string', anyOf: [{ minLength: 1 }] } },
  },
  {
    id: 'chat/gemini-schema-keyword',
    sure: 'likely',
    hosts: ['gemini'],
    says: `Invalid JSON payload received. Unknown name "{key}" at 'tools[0].function_declarations[0].parameters{at}': Cannot find field.`,
    sources: seen(
      '2026-09',
      'openswarm#24',
      'pizza-bot#62',
      'CLIProxyAPI#97: of the native endpoint; the OpenAI endpoint converts some',
    ),
    finds: within(functionsOf, ({ schema }) => {
      const key = nameIn(schema, NO_FIELD)
      return key !== undefined && { key }
    }),
    bad: { [`${PARAMETERS}.properties.city`]: { type: 'string', const: 'Bern' } },
  },
  {
    id: 'chat/llamacpp-pattern',
    sure: 'host',
    hosts: ['llamacpp'],
    says: "JSON schema conversion failed: Pattern must start with '^' and end with '$' ({path})",
    sources: seen('2026-11', 'llama.cpp, common/json-schema-to-grammar.cpp'),
    finds: within(
      functionsOf,
      ({ schema: { pattern } }) => isText(pattern) && !(pattern.startsWith('^') && pattern.endsWith('$')),
    ),
    bad: { [`${PARAMETERS}.properties.city.pattern`]: '[A-Z]' },
  },
  {
    id: 'messages/schema-root-type',
    sure: 'likely',
    says: '{path}.type: Field required',
    sources: KNOWN,
    finds: each(functionsOf, ({ schema }) => members(schema).type !== 'object'),
    bad: { 'tools[0].input_schema.type': undefined },
  },
  {
    id: 'messages/schema-root-union',
    sure: 'certain',
    says: '{path}: input_schema does not support oneOf, allOf, or anyOf at the top level',
    sources: seen('2026-07', 'Codewhale#4329'),
    finds: each(functionsOf, ({ schema }) => nameIn(members(schema), ['oneOf', 'allOf', 'anyOf']) !== undefined),
    bad: { 'tools[0].input_schema.anyOf': [{ required: ['city'] }] },
  },
  {
    id: 'messages/schema-key',
    sure: 'certain',
    says: "{path}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$' ({key})",
    sources: seen(
      '2026-09',
      'claude-code#79418',
      'ComposioHQ/composio#3500 ($top)',
      'n8n#30590',
      'decocms/studio#6874 (top level only)',
    ),
    finds: each(functionsOf, ({ schema }) => {
      const keys = Object.keys(members(members(schema).properties))
      const key = keys.find((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
      return key !== undefined && { key }
    }),
    bad: { 'tools[0].input_schema.properties.$top': { type: 'number' } },
  },
  {
    id: 'messages/schema-2020',
    sure: 'certain',
    says: '{path}: JSON schema is invalid. It must match JSON Schema draft 2020-12',
    sources: seen('2026-08', 'claude-code#63673', 'claude-code#86665', 'claude-code#9605', 'mcp-gsuite#19'),
    finds: within(functionsOf, isOlderDraft),
    bad: { 'tools[0].input_schema.properties.city': { type: 'array', items: [{ type: 'string' }] } },
  },
]
