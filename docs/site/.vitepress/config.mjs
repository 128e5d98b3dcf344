// SPDX-License-Identifier: BSL-1.0
import fs from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'vitepress'
import { address, fileOf, menu, pageOf, top } from '../repository.mjs'

const here = path.join(top, 'docs/site')

/// The anchor that a code host gives to a heading, so that one link works in both places.
function slug(heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '').replaceAll(' ', '-')
}

/// The file that a page was made from, as a path in the repository.
function sourceOf(env) {
  if (env.relativePath.startsWith('source/')) return env.relativePath.slice('source/'.length).replace(/\.md$/, '')
  return path.relative(top, env.realPath ?? env.path)
}

/// Links between files of the repository become links between pages.
function linkPages(md) {
  md.core.ruler.push('link_pages', ({ tokens, env }) => {
    if (!env.relativePath) return  // a heading alone, for the page's title
    const file = sourceOf(env)
    for (const token of tokens.flatMap((each) => each.children ?? [])) {
      if (token.type !== 'link_open') continue
      const target = token.attrGet('href')
      const found = fileOf(target, file)
      if (found) token.attrSet('href', address(found) + (target.match(/#.*/)?.[0] ?? ''))
    }
  })
}

/// What each page says at its top for readers of the repository is the menu here.
function withoutBacklinks(md) {
  md.core.ruler.before('normalize', 'without_backlinks', (state) => {
    state.src = state.src.replace(/^\[README\]\(\.\.\/README\.md\).*$/m, '')
  })
}

/// Code is text: what stands in two braces there is no expression of Vue's.
function literalCode(md) {
  const plain = md.renderer.rules.code_inline
  md.renderer.rules.code_inline = (tokens, i, ...more) => {
    tokens[i].attrSet('v-pre', '')
    return plain(tokens, i, ...more)
  }
}

/// A table or drawing that is wider than the window scrolls by itself, and by the keyboard. A header without text is an ordinary cell.
function scrollWide(md) {
  md.renderer.rules.code_block = (tokens, i) => `<pre v-pre tabindex="0"><code>${md.utils.escapeHtml(tokens[i].content)}</code></pre>\n`
  md.renderer.rules.table_open = () => '<div class="wide-table" tabindex="0"><table>\n'
  md.renderer.rules.table_close = () => '</table></div>\n'
  md.core.ruler.push('empty_headers', ({ tokens }) => {
    tokens.forEach((token, i) => {
      if (token.type === 'th_open' && tokens[i + 1].content === '') token.tag = tokens[i + 2].tag = 'td'
    })
  })
}

/// Pages lie outside of this folder, and so would not find its node_modules.
const ownPackages = {
  name: 'own-packages',
  enforce: 'pre',
  resolveId(id, importer, options) {
    if (/^vue(\/|$)/.test(id) && importer && !importer.includes('/node_modules/'))
      return this.resolve(id, path.join(here, 'package.json'), { ...options, skipSelf: true })
  },
}

/// The module of the live picture, where build has compiled it: docs/site/live.
const livePicture = {
  name: 'live-picture',
  resolveId: (id) => id === 'virtual:live-picture' ? '\0live-picture' : undefined,
  load(id) {
    if (id !== '\0live-picture') return undefined
    const module = process.env.SITE_LIVE
    return module && fs.existsSync(module) ? `export { default } from ${JSON.stringify(module + '?url')}` : "export default ''"
  },
}

export default defineConfig({
  title: 'leasehold',
  description: 'Leases, distributed locks and leader election for C++20, in the database you already have',
  lang: 'en',
  base: process.env.SITE_BASE ?? '/',
  srcDir: top,
  srcExclude: ['!(docs)/**/*', 'docs/!(site)/**/*', 'docs/site/!(source)/**/*', 'docs/site/api.md'],
  outDir: process.env.SITE_OUT ?? path.join(top, 'build/docs'),
  cacheDir: path.join(here, 'node_modules/.vitepress'),
  rewrites: (file) => pageOf(file) ?? file.replace(/^docs\/site\//, ''),
  ignoreDeadLinks: [/^\/api\//],
  transformHtml: (html, _, { page }) => page.endsWith('.ko.md') ? html.replace('<html lang="en"', '<html lang="ko"') : html,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    anchor: { slugify: slug },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    languageAlias: { 'c++': 'cpp', crontab: 'sh' },
    config(md) {
      md.use(withoutBacklinks)
      md.use(linkPages)
      md.use(literalCode)
      md.use(scrollWide)
    },
  },
  vite: {
    server: { fs: { allow: [top] } },
    plugins: [ownPackages, livePicture],
  },
  themeConfig: {
    outline: { level: [2, 3], label: 'On this page' },
    sidebar: menu(),
    nav: [
      { text: 'Guide', link: '/contents.html' },
      { text: 'Reference', link: '/api/index.html', target: '_self' },
      { text: 'Changes', link: '/changelog.html' },
      { text: '한국어', link: '/overview.ko.html' },
    ],
    docFooter: { prev: 'Previous', next: 'Next' },
    search: {
      provider: 'local',
      options: {
        // Files of source are found through the pages that name them.
        _render(text, env, md) {
          return env.relativePath.startsWith('source/') ? '' : md.render(text, env)
        },
      },
    },
    footer: { message: 'Boost Software License 1.0' },
  },
})
