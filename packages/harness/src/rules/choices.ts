/** Which tools a request offers or forces. */

import { whole } from './finds.ts'
import type { Reading } from './reading.ts'
import { thinks } from './reasoning.ts'
import { KNOWN, type RuleData, seen } from './rule.ts'
import { isText, list, members } from './values.ts'

function hasTools({ body }: Reading): boolean {
  return list(body.tools).length > 0
}

/** Whether the choice is one of a tool, or of any. */
function isForced(choice: unknown): boolean {
  return choice !== undefined && choice !== null && choice !== 'auto' && choice !== 'none'
}

function isForcedUse({ body }: Reading): boolean {
  const { type } = members(body.tool_choice)
  return type === 'any' || type === 'tool'
}

function isDeclared({ body, tools }: Reading, name: unknown): boolean {
  return tools.some((tool) => tool.name === name) || list(body.tools).some((tool) => members(tool).name === name)
}

export const choices: readonly RuleData[] = [
  {
    id: 'chat/choice-without-tools',
    sure: 'certain',
    says: "'{path}' is only allowed when 'tools' are specified.",
    sources: seen('2026-11', 'quoted in 10 public files, for tool_choice or parallel_tool_calls'),
    finds: function* (request) {
      if (hasTools(request)) return
      if (isForced(request.body.tool_choice)) yield { path: 'tool_choice' }
      if (request.body.parallel_tool_calls !== undefined) yield { path: 'parallel_tool_calls' }
    },
    bad: { tools: undefined },
  },
  {
    id: 'chat/choice-unknown',
    sure: 'likely',
    says: "Tool choice '{name}' not found in 'tools' parameter.",
    sources: KNOWN,
    finds: whole('tool_choice', (request) => {
      const { name } = members(members(request.body.tool_choice).function)
      return name !== undefined && !isDeclared(request, name) && { name }
    }),
    bad: { tool_choice: { type: 'function', function: { name: 'rain' } } },
  },
  {
    id: 'chat/choice-thinking',
    sure: 'host',
    hosts: ['moonshot', 'deepseek', 'qwen'],
    says: "tool_choice '{choice}' is incompatible with thinking enabled",
    sources: seen('2026-09', 'cloudwego/eino#994 (Qwen, DeepSeek)', 'vellum-assistant#42635 (Kimi)'),
    finds: whole('tool_choice', (request) => {
      const { tool_choice: choice } = request.body
      return isForced(choice) && thinks(request) && { choice: isText(choice) ? choice : 'specified' }
    }),
    bad: { tool_choice: 'required', thinking: { type: 'enabled' }, 'messages[2].reasoning_content': 'Two cities.' },
  },
  {
    id: 'responses/choice-without-tools',
    sure: 'certain',
    says: "Tool choice '{choice}' must be specified with 'tools' parameter.",
    sources: seen('2026-08', 'quoted in 10 public files, tried on 2026-08-03'),
    finds: whole('tool_choice', (request) => {
      const { tool_choice: choice } = request.body
      return !hasTools(request) && isForced(choice) && { choice: isText(choice) ? choice : 'function' }
    }),
    bad: { tools: undefined, tool_choice: 'required' },
  },
  {
    id: 'responses/choice-unknown',
    sure: 'likely',
    says: "Tool choice 'function' not found in 'tools' parameter.",
    sources: KNOWN,
    finds: whole('tool_choice', (request) => {
      const { type, name } = members(request.body.tool_choice)
      return type === 'function' && !isDeclared(request, name)
    }),
    bad: { tool_choice: { type: 'function', name: 'rain' } },
  },
  {
    id: 'messages/choice-without-tools',
    sure: 'certain',
    says: 'tool_choice: may only be specified while providing tools',
    sources: seen('2026-11', 'quoted in 10 public files, also for type none'),
    finds: whole('tool_choice', (request) => request.body.tool_choice !== undefined && !hasTools(request)),
    bad: { tools: undefined },
  },
  {
    id: 'messages/choice-unknown',
    sure: 'likely',
    says: "Tool '{name}' not found in provided tools",
    sources: KNOWN,
    finds: whole('tool_choice', (request) => {
      const { type, name } = members(request.body.tool_choice)
      return type === 'tool' && !isDeclared(request, name) && { name }
    }),
    bad: { thinking: undefined, tool_choice: { type: 'tool', name: 'rain' } },
  },
  {
    id: 'messages/choice-model',
    sure: 'certain',
    trait: 'no-forced-choice',
    says: 'tool_choice: type "tool" and "any" are not supported for this model.',
    sources: seen(
      '2026-09',
      'a public contract of each model, tried on 2026-09-29: Opus 5.5, Fable 5.1, Sonnet 5.5',
      'a public Go test server',
    ),
    finds: whole('tool_choice', isForcedUse),
    bad: { model: 'claude-opus-5-5', thinking: undefined, tool_choice: { type: 'any' } },
  },
  {
    id: 'messages/choice-thinking',
    sure: 'certain',
    says: 'Thinking may not be enabled when tool_choice forces tool use.',
    sources: seen(
      '2026-08',
      'oh-my-pi#341',
      'mastra#7507',
      'litellm#17129',
      'llm-exe#720',
      'Anthropic docs: "error with manual extended thinking"',
    ),
    finds: whole('tool_choice', (request) => {
      return members(request.body.thinking).type === 'enabled' && isForcedUse(request)
    }),
    bad: { tool_choice: { type: 'any' } },
  },
  {
    id: 'messages/choice-adaptive-thinking',
    sure: 'likely',
    says: 'Thinking may not be enabled when tool_choice forces tool use.',
    sources: seen('2026-05', 'adk-anthropic-go#23; newer docs: "adaptive thinking supports forced tool use"'),
    finds: whole('tool_choice', (request) => {
      return members(request.body.thinking).type === 'adaptive' && isForcedUse(request)
    }),
    bad: { model: 'claude-opus-4-7', thinking: { type: 'adaptive' }, tool_choice: { type: 'any' } },
  },
  {
    id: 'messages/tools-missing',
    sure: 'host',
    hosts: ['bedrock'],
    says: 'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
    sources: seen('2026-11', 'Bedrock Converse', 'LiteLLM adds a tool ("Anthropic expects the `tools=` param")'),
    finds: whole('tools', (request) => {
      return !hasTools(request) && (request.calls.length > 0 || request.results.length > 0)
    }),
    bad: { tools: undefined, tool_choice: undefined },
  },
]
