/**
 * The site: `npm run docs:build` builds it, `npm run docs:dev` shows it while you write. This is a preview of VitePress 2, because it uses the
 * same version of vite as the tests; VitePress 1 would add another one.
 */

import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type DefaultTheme, defineConfig } from 'vitepress'
import { apiSidebars } from './api-pages.ts'
import { linksToTheApi, linksWithinTheSite } from './links.ts'
import { diagrams } from './pictures.ts'
import { search } from './search.ts'
import { slugOf } from './slug.ts'

const docs = join(import.meta.dirname, '..')

/** The pages of a folder, by their headings. */
const pagesOf = (folder: string): DefaultTheme.SidebarItem[] =>
  globSync('*.md', { cwd: join(docs, folder) })
    .filter((file) => !/^(README|index|\[)/.test(file))
    .sort()
    .map((file) => ({ text: titleOf(join(folder, file)), link: `/${folder}/${basename(file, '.md')}` }))

const titleOf = (file: string): string =>
  readFileSync(join(docs, file), 'utf8')
    .match(/^# (.+)$/m)?.[1]
    ?.replaceAll('`', '') ?? file

const group = (text: string, items: DefaultTheme.SidebarItem[], collapsed?: boolean): DefaultTheme.SidebarItem => ({
  text,
  items,
  ...(collapsed !== undefined && { collapsed }),
})

const page = (text: string, link: string): DefaultTheme.SidebarItem => ({ text, link })

// The order in which users ask.
const sidebar = [
  group('Start', [
    page('Get started', '/start'),
    page('Concepts', '/concepts'),
    page('Examples', '/examples/'),
    page('Looking for …', '/looking-for'),
  ]),
  group('Guides', [
    page('Running an agent', '/runs'),
    page('Tools and effects', '/tools'),
    page('Tools of MCP servers', '/mcp'),
    page('Conversations', '/conversations'),
    page('Chat UI', '/chat-ui'),
    page('Approval and questions', '/approval'),
    page('Guards', '/guards'),
    page('Images and files', '/files'),
    page('Remember across conversations', '/remember'),
    page('Answer from documents', '/documents'),
    page('Agents together', '/agents'),
    page('Structured output', '/structured-output'),
    page('Eager tools', '/eager-tools'),
    page('Eager tools in other libraries', '/drop-ins'),
    page('Responses that break off', '/resilient'),
    page('Durable runs', '/durable'),
    page('Testing', '/testing'),
    page('Traces and metrics', '/telemetry'),
    page('Tokens and cost', '/telemetry#tokens-and-cost'),
    page('Devtools', '/devtools'),
    page('Traces in Jaeger', '/jaeger'),
    page('Deploying', '/deploying'),
    page('Threat model', '/threat-model'),
    page('Errors and retries', '/errors'),
  ]),
  group('In depth', [
    page('Events of a run', '/events'),
    page('Interrupt and resume', '/interrupt-and-resume'),
    page('Context of a run', '/context'),
    page('Background tools', '/background-tools'),
    page('Checkpoint stores', '/checkpoint-stores'),
    page('Writing middleware', '/writing-middleware'),
    group('Bundled middleware', pagesOf('middleware'), true),
    group('Coming from …', pagesOf('migration'), true),
  ]),
  group('Packages', pagesOf('packages'), true),
  group('Reference', [
    page('API', '/api/'),
    page('Terms', '/terms'),
    page('Bench', '/bench'),
    page('What a turn costs a server', '/server-costs'),
    page('What clients of chats can do', '/chat-clients'),
    page('Sizes', '/sizes'),
    page('Quirks of real streams', '/quirks'),
    page('What providers refuse', '/refusals'),
    page('Requests of other libraries', '/other-requests'),
    page('What breaks elsewhere', '/proved'),
    page('Compared with other libraries', '/compare'),
    page('What stays stable', '/stability'),
    page('Architecture', '/architecture'),
    group('Decisions', [page('All', '/decisions/'), ...pagesOf('decisions')], true),
  ]),
]

export default defineConfig({
  title: 'Meanwhile',
  description: 'Agent tools that start while the model is still writing',
  lang: 'en',
  cleanUrls: true,
  lastUpdated: false,
  ignoreDeadLinks: 'localhostLinks',
  rewrites: { 'decisions/README.md': 'decisions/index.md' },
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }]],
  transformPageData({ relativePath, frontmatter }) {
    // Pages of the API reference are looked up, not read one after the other.
    if (relativePath.startsWith('api/')) Object.assign(frontmatter, { pageClass: 'api', prev: false, next: false })
  },
  markdown: {
    anchor: { slugify: slugOf },
    config(md) {
      linksWithinTheSite(md)
      linksToTheApi(md)
      diagrams(md)
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark' },
  },
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    nav: [
      { text: 'Get started', link: '/start' },
      { text: 'How it works', link: '/eager-tools' },
      { text: 'Examples', link: '/examples/' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
    ],
    sidebar: { ...apiSidebars, '/': sidebar },
    logo: '/favicon.svg',
    outline: { level: [2, 3] },
    search,
    notFound: {
      title: 'Page not found',
      quote: 'There is no page with this address. Try the search, or start at the home page.',
      linkLabel: 'Go to the home page',
      linkText: 'Home',
    },
  },
})
