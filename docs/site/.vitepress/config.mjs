// SPDX-License-Identifier: BSL-1.0
import fs from 'node:fs'
import path from 'node:path'
import { defineConfig } from 'vitepress'
import { address, fileOf, maintainersPages, menus, pageOf, publicNames, referenceFolder, top } from '../repository.mjs'

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

const byName = new Map(publicNames.map((each) => [each.name, each]))

/// The address of the page of a public name that is written as in lh::basic_lease, `lease_guard::held()` or odbc::fence; undefined: it is
/// none. A word without an underscore has to say that it is a name of the library.
function pageOfName(text) {
  const found = text.match(/^(lh::|leasehold::)?([a-z_]\w*(?:::[a-z_]\w*)*)(?:<.*>)?(?:\(.*\)|\{.*\})?$/)
  if (!found) return undefined
  const [, scope, name] = found
  if (!scope && !/_|::/.test(name)) return undefined
  if (byName.has(name)) return `/reference/${byName.get(name).page}.html`
  const of = byName.get(name.replace(/::\w+$/, ''))
  const member = name.match(/::(\w+)$/)?.[1]
  return of?.members.includes(member) ? `/reference/${of.page}.html#${member}` : undefined
}

/// Public names in the text become links to their pages, except where they stand in a link or a heading, or on the page itself.
function linkNames(md) {
  md.core.ruler.push('link_names', ({ tokens, env, Token }) => {
    if (!env.relativePath) return
    tokens.forEach((token, i) => {
      if (token.type !== 'inline' || tokens[i - 1]?.type === 'heading_open') return
      let depth = 0
      token.children = token.children.flatMap((child) => {
        depth += child.nesting * (/^link_/.test(child.type) ? 1 : 0)
        const target = child.type === 'code_inline' && depth === 0 ? pageOfName(child.content) : undefined
        if (!target || target.split('#')[0].endsWith('/' + env.relativePath.replace(/\.md$/, '.html'))) return [child]
        const open = new Token('link_open', 'a', 1)
        open.attrSet('href', target)
        return [open, child, new Token('link_close', 'a', -1)]
      })
    })
  })
  // In programs: between the highlighter's tags.
  const plain = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, i, options, env, self) => {
    const html = plain(tokens, i, options, env, self)
    return /^(cpp|c\+\+)\b/.test(tokens[i].info) && byName.size > 0 ? withLinks(html, env) : html
  }
}

function withLinks(html, env) {
  const here = env.relativePath?.replace(/\.md$/, '.html')
  const base = (process.env.SITE_BASE ?? '/').replace(/\/$/, '')
  const begin = html.indexOf('<code')
  let before = ''
  return html.slice(0, begin) + html.slice(begin).replace(/>([^<]+)(?=<)/g, (_, text) => {
    const linked = text.replace(/((?:\w+::)*)([a-z]\w*)/g, (whole, scope, word, at) => {
      const prefix = (before + text.slice(0, at)).slice(-20)
      if (/(\.|-&gt;|->|\w|\/)$/.test(prefix)) return whole
      const target = pageOfName((prefix.match(/\b(lh|leasehold)::(\w+::)*$/)?.[0] ?? '') + scope + word)
      return target && target !== '/' + here ? `<a href="${base}${target}">${whole}</a>` : whole
    })
    before = (before + text).slice(-40)
    return '>' + linked
  })
}

/// The front page shows the README's program.
function programOfReadme(md) {
  md.core.ruler.before('normalize', 'program_of_readme', (state) => {
    state.src = state.src.replace('<!-- the program of README.md -->', () =>
      fs.readFileSync(path.join(top, 'README.md'), 'utf8').match(/^```cpp\n[^]*?^```/m)[0])
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

/// What the search takes for words: also public names as a whole. The browser gets the text of this function and of the next two.
function words(text) {
  return text.split(/[\n\r\p{Z}\p{P}]+/u).concat(text.match(/\w+_\w+/g) ?? [])
}

/// Words that nearly every page has would decide what a whole sentence finds. null: not searched for.
function term(word) {
  return /^(an?|at|from|in|it|my|of|on|or|the|to)$/i.test(word) ? null : word.toLowerCase()
}

/// Pages for maintainers, and what changed, come after those for users.
const order = new Function('page', `return /\\/(${maintainersPages().map(({ link }) => link.slice(1).replaceAll('.', '\\.').replaceAll('/', '\\/')).join('|')})/.test(page) ? 0.1 : /\\/changelog\\./.test(page) ? 0.3 : 1`)

export default defineConfig({
  title: 'leasehold',
  description: 'Leases, distributed locks and leader election for C++20, in the database you already have',
  lang: 'en',
  base: process.env.SITE_BASE ?? '/',
  srcDir: top,
  srcExclude: ['!(docs)/**/*', 'docs/!(site)/**/*', 'docs/site/!(source|reference)/**/*', 'docs/site/api.md'],
  outDir: process.env.SITE_OUT ?? path.join(top, 'build/docs'),
  cacheDir: path.join(here, 'node_modules/.vitepress'),
  rewrites: (file) => pageOf(file) ?? file.replace(/^docs\/site\/(reference\/made(?=\/))?/, (_, made) => made ? 'reference' : ''),
  ignoreDeadLinks: referenceFolder ? false : [/^\/reference\//],
  transformHtml: (html, _, { page }) => page.endsWith('.ko.md') ? html.replace('<html lang="en"', '<html lang="ko"') : html,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    anchor: { slugify: slug },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    languageAlias: { 'c++': 'cpp', crontab: 'sh' },
    config(md) {
      md.use(withoutBacklinks)
      md.use(programOfReadme)
      md.use(linkPages)
      md.use(linkNames)
      md.use(literalCode)
      md.use(scrollWide)
    },
  },
  vite: {
    build: { chunkSizeWarningLimit: 4000 },  // the search's index, which is loaded when somebody searches
    server: { fs: { allow: [top] } },
    plugins: [ownPackages, livePicture],
  },
  themeConfig: {
    outline: { level: [2, 3], label: 'On this page' },
    sidebar: menus(),
    nav: [
      { text: 'Guide', link: '/contents.html' },
      { text: 'Reference', link: '/reference/index.html' },
      { text: 'Changes', link: '/changelog.html' },
      { text: 'Maintainers', link: maintainersPages()[0].link },
      { text: '한국어', link: '/overview.ko.html' },
    ],
    docFooter: { prev: 'Previous', next: 'Next' },
    search: {
      provider: 'local',
      options: {
        miniSearch: { options: { tokenize: words, processTerm: term }, searchOptions: { boostDocument: order } },
        // Files of source are found through the pages that name them.
        _render(text, env, md) {
          return env.relativePath.startsWith('source/') ? '' : md.render(text, env)
        },
      },
    },
    footer: { message: 'Boost Software License 1.0' },
  },
})
