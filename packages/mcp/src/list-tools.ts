/** The list of a server's tools, page by page: one bad tool must not cost the others. */

import { isRecord, unlessAborted } from '@meanwhile/core/calls'
import type { Connection } from './connection.ts'
import { type McpDefinition, orderedJson, readDefinition } from './definition.ts'
import { McpLimitError } from './errors.ts'
import { LostError } from './faults.ts'
import { frozenCopy, readSchema } from './json-schemas.ts'
import { type ListedTool, listedTool } from './listed-tool.ts'
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
  const tools = ours.map((definition) => listedTool(definition, orderedJson(definition.inputSchema), server, sdk))
  const problems: string[] = resources && !hasResources ? [`${server}: it has no resources`] : []
  const most = limits.tools + tools.length + problems.length
  const names = new Set(ours.map(({ name }) => name))
  const cursors = new Set<string>()
  let room = limits.messageBytes
  if (!hasTools) return { tools, problems }
  for (let cursor: string | undefined; ; ) {
    const page = await pageAt(connection, cursor)
    if (tools.length + problems.length + page.tools.length > most)
      throw new McpLimitError(server, `it has more than ${limits.tools} tools`)
    for (const raw of page.tools) {
      const read = readTool(raw, limits, names)
      if (typeof read === 'string') {
        problems.push(`${server}: its tool ${nameOf(raw)} is left out: ${read}`)
        continue
      }
      const { definition, inputJson } = read
      names.add(definition.name)
      tools.push(listedTool(definition, inputJson, server, sdk))
    }
    const { nextCursor } = page
    if (typeof nextCursor !== 'string') return { tools, problems }
    cursor = nextCursor
    room -= cursor.length
    if (cursors.has(cursor) || cursors.size >= limits.tools)
      throw new McpLimitError(server, 'the pages of its list of tools do not end')
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

/** A tool in a list that can be used. */
interface Read {
  readonly definition: McpDefinition
  /** The schema of its input as {@link orderedJson}. */
  readonly inputJson: string
}

/** What is read of a tool, or why it is not used. */
function readTool(raw: unknown, limits: FullLimits, names: ReadonlySet<string>): Read | string {
  const definition = readDefinition(raw)
  if (typeof definition === 'string') return definition
  const { name, description = '', annotations, inputSchema, outputSchema } = definition
  if (names.has(name)) return 'another tool has its name'
  const { title = '' } = annotations
  const long =
    tooLong('name', name, limits) ?? tooLong('title', title, limits) ?? tooLong('description', description, limits)
  if (long) return long
  const input = readSchema(inputSchema, limits)
  const output = outputSchema && readSchema(outputSchema, limits)
  if (typeof input === 'string') return input
  if (typeof output === 'string') return output
  const own = { ...definition, inputSchema: frozenCopy(inputSchema) }
  const full = outputSchema ? { ...own, outputSchema: frozenCopy(outputSchema) } : own
  return { definition: full, inputJson: input.json }
}

function tooLong(what: string, { length }: string, { text }: FullLimits): string | undefined {
  return length > text ? `its ${what} has ${length} characters, more than ${text}` : undefined
}

function nameOf(raw: unknown): string {
  return isRecord(raw) && typeof raw.name === 'string' ? JSON.stringify(raw.name.slice(0, 100)) : 'without a name'
}
