/** The list of a server's tools, page by page: one bad tool must not cost the others. */

import { isRecord, unlessAborted } from '@meanwhile/core/calls'
import type { Connection } from './connection.ts'
import { type McpDefinition, readDefinition } from './definition.ts'
import { McpLimitError } from './errors.ts'
import { LostError } from './faults.ts'
import { readSchema } from './json-schemas.ts'
import { ListedTool } from './listed-tool.ts'
import type { FullLimits } from './options.ts'
import { RESOURCE_TOOLS } from './resources.ts'
import { schemaOf } from './schema-of.ts'

/** The tools of a server, and why others are left out. */
export interface Listing {
  readonly tools: readonly ListedTool[]
  readonly problems: readonly string[]
}

interface Page {
  readonly tools: readonly unknown[]
  readonly nextCursor?: unknown
}

const isPage = (value: unknown): value is Page => isRecord(value) && Array.isArray(value.tools)

/** The client's own schema rejects the whole page for one tool. */
const PAGE = schemaOf(isPage, 'has no list of tools')

/** What is listed, and of which server. */
export interface ListOptions {
  readonly server: string
  readonly limits: FullLimits
  /** Whether the tools for the resources of the server are in the list. */
  readonly resources: boolean | undefined
}

/** @throws {McpLimitError} The server has more tools than the limit, or its pages do not end. */
export async function listTools(connection: Connection, options: ListOptions): Promise<Listing> {
  const { client, sdk } = connection
  const { server, limits, resources = false } = options
  const { tools: hasTools, resources: hasResources } = client.getServerCapabilities() ?? {}
  const ours = resources && hasResources ? RESOURCE_TOOLS : []
  const tools = ours.map((definition) => new ListedTool(definition, server, sdk))
  const problems: string[] = resources && !hasResources ? [`${server}: it has no resources`] : []
  const most = limits.tools + tools.length + problems.length
  const names = new Set(ours.map(({ name }) => name))
  const cursors = new Set<string>()
  // Then the message came as text, and only the client and we have read it.
  const isOurs = connection.network !== undefined
  let room = limits.messageBytes
  if (!hasTools) return { tools, problems }
  for (let cursor: string | undefined; ; ) {
    const { tools: listed, nextCursor } = await pageAt(connection, cursor)
    // Servers without pages send a cursor all the same, and for it what they sent before.
    const isAgain = typeof nextCursor === 'string' && cursors.has(nextCursor)
    const fresh = isAgain ? listed.filter((raw) => !isRecord(raw) || !names.has(String(raw.name))) : listed
    if (tools.length + problems.length + fresh.length > most)
      throw new McpLimitError(server, `it has more than ${limits.tools} tools`)
    for (const raw of fresh) {
      const read = readTool(raw, { limits, names, isOurs })
      if (typeof read === 'string') {
        problems.push(`${server}: its tool ${nameOf(raw)} is left out: ${read}`)
        continue
      }
      names.add(read.name)
      tools.push(new ListedTool(read, server, sdk))
    }
    if (typeof nextCursor !== 'string' || isAgain) return { tools, problems }
    cursor = nextCursor
    room -= cursor.length
    if (cursors.size >= limits.tools) throw new McpLimitError(server, 'the pages of its list of tools do not end')
    if (room < 0) throw new McpLimitError(server, 'the cursors of its list of tools are too long')
    cursors.add(cursor)
  }
}

/** One page. The client does not notice when the stream of an answer ends without it. */
async function pageAt({ client, calls }: Connection, cursor: string | undefined): Promise<Page> {
  const left = new AbortController()
  const open = calls.addRequest(() => left.abort(new LostError()))
  const params = { _meta: open.meta, ...(cursor !== undefined && { cursor }) }
  try {
    const page = client.request({ method: 'tools/list', params }, PAGE, { signal: left.signal })
    return await unlessAborted(page, [left.signal])
  } finally {
    open.over()
  }
}

interface Reading {
  readonly limits: FullLimits
  /** The names of the tools before. */
  readonly names: ReadonlySet<string>
  /** Whether nobody else has what the server has sent. */
  readonly isOurs: boolean
}

/** The definition of a tool, or why it is not used. */
function readTool(raw: unknown, { limits, names, isOurs }: Reading): McpDefinition | string {
  const definition = readDefinition(raw)
  if (typeof definition === 'string') return definition
  const { name, description = '', annotations, inputSchema, outputSchema } = definition
  if (names.has(name)) return 'another tool has its name'
  const { title = '' } = annotations
  const long =
    tooLong('name', name, limits) ?? tooLong('title', title, limits) ?? tooLong('description', description, limits)
  if (long) return long
  const input = readSchema(inputSchema, limits, isOurs)
  if (typeof input === 'string') return input
  const output = outputSchema && readSchema(outputSchema, limits, isOurs)
  if (typeof output === 'string') return output
  return isOurs ? definition : { ...definition, inputSchema: input, ...(output && { outputSchema: output }) }
}

function tooLong(what: string, { length }: string, { text }: FullLimits): string | undefined {
  return length > text ? `its ${what} has ${length} characters, more than ${text}` : undefined
}

function nameOf(raw: unknown): string {
  return isRecord(raw) && typeof raw.name === 'string' ? JSON.stringify(raw.name.slice(0, 100)) : 'without a name'
}
