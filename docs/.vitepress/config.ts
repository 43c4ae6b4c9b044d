/**
 * The site: `npm run docs:build` makes it, `npm run docs:dev` shows it while you write. VitePress is the 2 to come, because it stands on
 * the vite that the tests stand on; the latest 1 would bring another.
 */

import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type DefaultTheme, defineConfig } from 'vitepress'
import { linksWithinTheSite } from './links.ts'

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

const sidebar = [
  group('Begin', [
    page('In five minutes', '/start'),
    page('Concepts', '/concepts'),
    page('Examples', '/examples/'),
    group('Coming from …', pagesOf('migration'), true),
  ]),
  group('Guides', [
    page('Eager tools', '/eager-tools'),
    page('Eager tools in the loop you have', '/drop-ins'),
    page('The context of a run', '/context'),
    page('Interrupt and resume', '/interrupt-and-resume'),
    page('Conversations', '/conversations'),
    page('Durable runs', '/durable'),
    page('A chat in the browser', '/chat-ui'),
    page('Writing middleware', '/writing-middleware'),
    group('The bundled middleware', pagesOf('middleware'), true),
    page('Testing with the harness', '/testing'),
    page('Telemetry', '/telemetry'),
    page('Traces in Jaeger', '/jaeger'),
    page('Bench', '/bench'),
  ]),
  group('Packages', pagesOf('packages')),
  group('Reference', [
    page('API', '/api/'),
    page('Sizes', '/sizes'),
    page('Quirks of real streams', '/quirks'),
    page('What is where, and why', '/architecture'),
    group('Decisions', [page('All', '/decisions/'), ...pagesOf('decisions')], true),
  ]),
]

export default defineConfig({
  title: 'Meanwhile',
  description: 'Agents whose tools run while the model is still speaking',
  lang: 'en',
  cleanUrls: true,
  lastUpdated: false,
  ignoreDeadLinks: 'localhostLinks',
  rewrites: { 'decisions/README.md': 'decisions/index.md' },
  markdown: { config: linksWithinTheSite, theme: { light: 'github-light-high-contrast', dark: 'github-dark' } },
  // The API of core is one page.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    nav: [
      page('Start', '/start'),
      page('Eager tools', '/eager-tools'),
      page('Examples', '/examples/'),
      page('API', '/api/'),
    ].map(({ text = '', link = '' }) => ({ text, link })),
    sidebar,
    outline: { level: [2, 3] },
    search: { provider: 'local' },
  },
})
