import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import type { OAuthClientProvider } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { bodyOf, listed, listing } from '../test/in-process.ts'
import { ran, readIn } from '../test/runs.ts'
import { type HttpServer, McpAuthError, mcp } from './index.ts'

const tool = listing([listed('get')], () => ({ content: [{ type: 'text', text: 'ok' }] }))

/** A server that accepts only this token. After ten calls, it refuses others only when `late` resolves. */
function guarded(
  valid: () => string,
  late?: Promise<void>,
): { readonly server: HttpServer; readonly tokens: string[] } {
  const tokens: string[] = []
  return {
    tokens,
    server: {
      ...tool,
      async fetch(url, init) {
        const token = new Headers(init?.headers).get('authorization') ?? ''
        if (bodyOf(init).includes('"tools/call"')) tokens.push(token)
        const isLate = tokens.length > 10
        // The first ten are refused before the refresh ends.
        await new Promise((resolve) => setImmediate(resolve))
        if (token !== `Bearer ${valid()}` && isLate) await late
        if (token !== `Bearer ${valid()}`)
          return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } })
        return (await tool.fetch?.(url, init)) ?? new Response()
      },
    },
  }
}

test('twenty calls that are refused with the same expired token, some after the refresh, cause one refresh (MC6)', async () => {
  let valid = 'first'
  let token = valid
  let refreshes = 0
  let end = () => {}
  const refreshed = new Promise<void>((resolve) => {
    end = resolve
  })
  const { server, tokens } = guarded(() => valid, refreshed)
  const authProvider = {
    token: async () => token,
    async onUnauthorized() {
      refreshes++
      await new Promise((resolve) => setImmediate(resolve))
      token = valid
      setImmediate(end)
    },
  }
  await using servers = mcp({ servers: { a: { ...server, authProvider } } })
  const expire = {
    name: 'expire',
    afterModel() {
      valid = 'second'
    },
  }
  const calls = Array.from({ length: 20 }, () => call('get', {}))
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const result = await createAgent({ model, middleware: [servers, expire], toolConcurrency: 20 }).run('Go')
  expect(readIn(result)).toEqual(calls.map(() => 'ok'))
  expect(refreshes).toBe(1)
  expect(tokens.filter((one) => one === 'Bearer second')).toHaveLength(20)
})

test('a server that refuses the credentials ends the run with McpAuthError, which has no token in it (MC6)', async () => {
  const { server } = guarded(() => 'other')
  const { error } = await ran({ servers: { a: { ...server, authProvider: { token: async () => 'sk-secret' } } } }, [
    say('hi'),
  ])
  expect(error).toBeInstanceOf(McpAuthError)
  expect(error).toMatchObject({ server: 'a', action: 'configure', message: 'a: it refuses the credentials' })
  expect(JSON.stringify(error)).not.toContain('sk-secret')
})

/** A server that accepts only this token, with its authorization server, and a provider that has a token or none. */
function authorized(valid: () => string, token?: string): { readonly server: HttpServer; readonly sent: string[] } {
  const { server } = guarded(valid)
  const sent: string[] = []
  const json = (body: object) => Response.json(body)
  const authProvider: OAuthClientProvider = {
    redirectUrl: 'http://127.0.0.1/callback',
    clientMetadata: { redirect_uris: ['http://127.0.0.1/callback'] },
    clientInformation: () => ({ client_id: 'us' }),
    tokens: () => (token === undefined ? undefined : { access_token: token, token_type: 'Bearer' }),
    saveTokens: () => {},
    redirectToAuthorization: (url) => void sent.push(url.pathname),
    saveCodeVerifier: () => {},
    codeVerifier: () => 'verifier',
  }
  const authorizing: HttpServer = {
    ...server,
    authProvider,
    async fetch(url, init) {
      const { pathname } = new URL(String(url))
      const issuer = 'http://server.test'
      if (pathname.startsWith('/.well-known/oauth-protected-resource'))
        return json({ resource: 'http://server.test/mcp', authorization_servers: [issuer] })
      if (pathname.startsWith('/.well-known/'))
        return json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        })
      return (await server.fetch?.(url, init)) ?? new Response()
    },
  }
  return { server: authorizing, sent }
}

test('an OAuth server without a token sends the user to its authorization server: action is redirect (MC6)', async () => {
  const { server, sent } = authorized(() => 'other')
  const { error } = await ran({ servers: { a: server } }, [say('hi')])
  expect(error).toMatchObject({ name: 'McpAuthError', action: 'redirect' })
  expect(sent).toEqual(['/authorize'])
})

test('so does a call whose token has expired: the model reads that the user must authorize (MC6)', async () => {
  let valid = 'first'
  const { server, sent } = authorized(() => valid, 'first')
  const expire = {
    name: 'expire',
    afterModel() {
      valid = 'second'
    },
  }
  const { result } = await ran({ servers: { a: server } }, [call('get', {})], { middleware: [expire] })
  expect(result && readIn(result)).toEqual([
    'a: it must be authorized first: the authProvider has received the address',
  ])
  expect(sent).toEqual(['/authorize'])
})
