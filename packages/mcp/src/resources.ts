/** The tools with which a model lists and reads the resources of a server. */

import { freeze, isRecord } from '@meanwhile/core/calls'
import type { BlobResourceContents, CallToolResult, TextResourceContents } from '@modelcontextprotocol/client'
import type { CallRequest } from './call.ts'
import type { McpDefinition } from './definition.ts'
import { schemaOf } from './schema-of.ts'

const text = (description: string) => ({ type: 'string', description })

const LIST: McpDefinition = freeze({
  name: 'mcp_list_resources',
  description: 'Lists resources of the server: files, pages and other data, with the URI of each.',
  inputSchema: { type: 'object', properties: { cursor: text('Where the next page begins.') } },
  annotations: { readOnlyHint: true },
})

const READ: McpDefinition = freeze({
  name: 'mcp_read_resource',
  description: 'Reads a resource of the server.',
  inputSchema: { type: 'object', properties: { uri: text('The URI of the resource.') }, required: ['uri'] },
  annotations: { readOnlyHint: true },
})

export const RESOURCE_TOOLS: readonly McpDefinition[] = [LIST, READ]

/** The request of one of these tools; `undefined` for any other. */
export function resourceRequest(definition: McpDefinition): CallRequest | undefined {
  return REQUESTS.get(definition)
}

const REQUESTS: ReadonlyMap<McpDefinition, CallRequest> = new Map([
  [
    LIST,
    {
      method: 'resources/list',
      async send({ client, sdk }, { cursor }, more, options) {
        const params = { ...more, ...(cursor !== undefined && { cursor }) }
        const schema = sdk.withInputRequired(schemaOf(isList, 'has no list of resources'))
        const answer = await client.request({ method: 'resources/list', params }, schema, options)
        return sdk.isInputRequiredResult(answer) ? answer : listResult(answer)
      },
    },
  ],
  [
    READ,
    {
      method: 'resources/read',
      async send({ client, sdk }, { uri }, more, options) {
        const schema = sdk.withInputRequired(schemaOf(isContents, 'has no contents'))
        const answer = await client.request({ method: 'resources/read', params: { ...more, uri } }, schema, options)
        return sdk.isInputRequiredResult(answer) ? answer : readResult(answer)
      },
    },
  ],
])

interface List {
  readonly resources: readonly unknown[]
  readonly nextCursor?: unknown
}

const isList = (value: unknown): value is List => isRecord(value) && Array.isArray(value.resources)

/** A line for each resource. The members may be anything. */
function listResult({ resources, nextCursor }: List): CallToolResult {
  const lines = resources.filter(isRecord).map((one) => {
    const { uri, name, title, mimeType, description } = one
    return JSON.stringify({ uri, name, title, mimeType, description })
  })
  const more = typeof nextCursor === 'string' ? [`more: call with ${JSON.stringify({ cursor: nextCursor })}`] : []
  const texts = [lines.join('\n') || 'The server has no resources.', ...more]
  return { content: texts.map((text) => ({ type: 'text', text })) }
}

interface Contents {
  readonly contents: readonly (TextResourceContents | BlobResourceContents)[]
}

function isContents(value: unknown): value is Contents {
  return isRecord(value) && Array.isArray(value.contents) && value.contents.every(isResource)
}

function isResource(value: unknown): boolean {
  if (!isRecord(value)) return false
  return typeof ('text' in value ? value.text : value.blob) === 'string'
}

function readResult({ contents }: Contents): CallToolResult {
  return { content: contents.map((resource) => ({ type: 'resource', resource })) }
}
