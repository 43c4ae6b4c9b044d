/** Credentials of requests: one refresh at a time. */

import type { AuthProvider, FetchLike, OAuthClientProvider } from '@modelcontextprotocol/client'
import type { McpAuth } from './options.ts'
import type { Sdk } from './sdk.ts'

/** Whether the provider can send the user to an authorization server. */
export function isOAuth(provider: McpAuth | undefined): provider is OAuthClientProvider {
  return provider !== undefined && 'tokens' in provider
}

/**
 * A provider that refreshes once for all requests that were refused with the same token, and the `fetch` that tells it which token a request had. The
 * client's own would refresh once for each of them.
 */
export function oneRefresh(
  sdk: Sdk,
  given: McpAuth,
  fetchFn: FetchLike,
): { readonly authProvider: AuthProvider; readonly fetch: FetchLike } {
  const provider = isOAuth(given) ? simple(sdk, given) : given
  const tokens = new WeakMap<Response, string | null>()
  let refresh: Promise<void> | undefined
  return {
    authProvider: {
      token: () => provider.token(),
      ...(provider.onUnauthorized && {
        async onUnauthorized(refused) {
          const token = await provider.token()
          const used = tokens.get(refused.response)
          // Another request has refreshed it since this one was sent.
          if (refresh === undefined && token !== undefined && used !== `Bearer ${token}`) return
          refresh ??= Promise.resolve(provider.onUnauthorized?.(refused)).finally(() => {
            refresh = undefined
          })
          await refresh
        },
      }),
    },
    async fetch(url, init) {
      const response = await fetchFn(url, init)
      if (response.status === 401) tokens.set(response, new Headers(init?.headers).get('authorization'))
      return response
    },
  }
}

function simple(sdk: Sdk, provider: OAuthClientProvider): AuthProvider {
  return {
    token: async () => (await provider.tokens())?.access_token,
    async onUnauthorized({ response, serverUrl, fetchFn }) {
      const { resourceMetadataUrl, scope } = sdk.extractWWWAuthenticateParams(response)
      const outcome = await sdk.auth(provider, {
        serverUrl,
        fetchFn,
        ...(resourceMetadataUrl && { resourceMetadataUrl }),
        ...(scope !== undefined && { scope }),
      })
      if (outcome !== 'AUTHORIZED') throw new sdk.UnauthorizedError()
    },
  }
}
