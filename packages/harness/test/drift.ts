/** What the types of both clients have, and the lists of known members lack, or the other way round. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import {
  CHAT_BODY,
  CHAT_MESSAGE,
  CHAT_PART,
  MESSAGES_BLOCK,
  MESSAGES_BODY,
  RESPONSES_BODY,
  RESPONSES_PART,
} from '../src/rules/known-members.ts'

interface Compared {
  readonly list: string
  readonly known: ReadonlySet<string> | undefined
  readonly file: string
  /** The interfaces that have the members, together. */
  readonly interfaces: readonly string[]
  /** Known members that the types have no longer, or never had. */
  readonly more?: readonly string[]
}

const CHAT = 'openai/resources/chat/completions/completions.d.ts'
const RESPONSES = 'openai/resources/responses/responses.d.ts'
const MESSAGES = '@anthropic-ai/sdk/resources/messages/messages.d.ts'
const BETA = '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts'

const LISTS: readonly Compared[] = [
  { list: 'CHAT_BODY', known: CHAT_BODY, file: CHAT, interfaces: ['ChatCompletionCreateParamsBase'] },
  ...(['system', 'developer', 'user', 'assistant', 'tool'] as const).map((role) => ({
    list: `CHAT_MESSAGE ${role}`,
    known: CHAT_MESSAGE.get(role),
    file: CHAT,
    interfaces: [`ChatCompletion${role[0]?.toUpperCase()}${role.slice(1)}MessageParam`],
    // Hosts have it, too: the specification does.
    ...(role === 'tool' && { more: ['name'] }),
  })),
  { list: 'CHAT_PART text', known: CHAT_PART.get('text'), file: CHAT, interfaces: ['ChatCompletionContentPartText'] },
  {
    list: 'CHAT_PART image_url',
    known: CHAT_PART.get('image_url'),
    file: CHAT,
    interfaces: ['ChatCompletionContentPartImage'],
  },
  { list: 'RESPONSES_BODY', known: RESPONSES_BODY, file: RESPONSES, interfaces: ['ResponseCreateParamsBase'] },
  ...(
    [
      ['input_text', 'ResponseInputText'],
      ['input_image', 'ResponseInputImage'],
      ['input_file', 'ResponseInputFile'],
    ] as const
  ).map(([type, name]) => ({
    list: `RESPONSES_PART ${type}`,
    known: RESPONSES_PART.get(type),
    file: RESPONSES,
    interfaces: [name],
  })),
  {
    list: 'MESSAGES_BODY',
    known: MESSAGES_BODY,
    file: BETA,
    interfaces: ['MessageCreateParamsBase'],
    // Older models still take them.
    more: ['temperature', 'top_k', 'top_p'],
  },
  ...(
    [
      ['text', 'TextBlockParam'],
      ['image', 'ImageBlockParam'],
      ['document', 'DocumentBlockParam'],
      ['search_result', 'SearchResultBlockParam'],
      ['thinking', 'ThinkingBlockParam'],
      ['redacted_thinking', 'RedactedThinkingBlockParam'],
      ['tool_use', 'ToolUseBlockParam'],
      ['tool_result', 'ToolResultBlockParam'],
    ] as const
  ).map(([type, name]) => ({
    list: `MESSAGES_BLOCK ${type}`,
    known: MESSAGES_BLOCK.get(type),
    file: MESSAGES,
    interfaces: [name],
    // Another rule refuses it.
    ...(type.endsWith('thinking') && { more: ['cache_control'] }),
  })),
]

/** One line for each member that differs; `folder` contains the packages of the clients. */
export function drift(folder: string): readonly string[] {
  return LISTS.flatMap(({ list, known = new Set(), file, interfaces, more = [] }) => {
    const typed = membersOf(join(folder, file), interfaces)
    const added = [...typed].filter((name) => !known.has(name)).map((name) => `${list}: the types also have ${name}`)
    const gone = [...known].filter((name) => !typed.has(name) && !more.includes(name))
    return [...added, ...gone.map((name) => `${list}: the types do not have ${name}`)]
  })
}

function membersOf(path: string, interfaces: readonly string[]): ReadonlySet<string> {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), {
    languageVersion: ts.ScriptTarget.ESNext,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  })
  const names = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isInterfaceDeclaration(node) && interfaces.includes(node.name.text))
      for (const { name } of node.members) if (name && ts.isIdentifier(name)) names.add(name.text)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return names
}
