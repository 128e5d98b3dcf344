// SPDX-License-Identifier: BSL-1.0
// Which file of the repository becomes which page of the site.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const top = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')

/// Where reference/pages.py has written the pages of the reference; undefined: the site is built without.
export const referenceFolder = process.env.SITE_REFERENCE || undefined

/// The public names: { name, page, kind, file, brief, members } each.
export const publicNames = referenceFolder ? JSON.parse(fs.readFileSync(path.join(referenceFolder, 'names.json'), 'utf8')) : []

const renamed = {
  'docs/site/index.md': 'index.md',
  'README.md': 'overview.md',
  'README.ko.md': 'overview.ko.md',
  'CHANGELOG.md': 'changelog.md',
  'docs/README.md': 'contents.md',
}

/// The page's file name in the site, or undefined for a file that is shown as source.
export function pageOf(file) {
  if (renamed[file]) return renamed[file]
  return /^docs\/[^/]+\.md$/.test(file) ? file.slice('docs/'.length) : undefined
}

/// The links of a Markdown text: the targets of [text](target), without code and pictures.
export function linkTargets(markdown) {
  const text = markdown.replace(/^```.*?^```/gms, '').replace(/`[^`\n]*`/g, '').replace(/!\[[^\]]*\]\([^)]*\)/g, '')
  return [...text.matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map((found) => decodeURI(found[1]))
}

/// The file or folder that a link in `file` leads to, relative to the repository; undefined for other links.
export function fileOf(target, file) {
  if (/^([a-z]+:|\/|#)/.test(target)) return undefined
  const found = path.normalize(path.join(path.dirname(file), decodeURI(target).split('#')[0])).replace(/\/$/, '')
  return !found.startsWith('..') && fs.existsSync(path.join(top, found)) ? found : undefined
}

/// The link to a file's page, as the site knows it.
export function address(file) {
  const page = pageOf(file)
  return page ? '/' + page.replace(/\.md$/, '.html').replace(/^index\.html$/, '') : `/source/${file.replace(/\.md$/, '')}.html`
}

/// Groups and labels of the lists of docs/README.md.
function groups() {
  const found = []
  for (const line of fs.readFileSync(path.join(top, 'docs/README.md'), 'utf8').split('\n')) {
    const heading = line.match(/^## (.+)$/)
    const entry = line.match(/^- \[(.+?)\]\((.+?)\)/)
    if (heading) found.push({ text: heading[1], items: [] })
    else if (entry && found.length > 0) {
      const file = fileOf(entry[2], 'docs/README.md')
      if (!file) throw new Error(`docs/README.md: there is no ${entry[2]}`)
      found.at(-1).items.push({ text: entry[1], link: address(file) })
    }
  }
  return found
}

const isForMaintainers = (group) => /maintain/i.test(group.text)

/// The pages that nobody needs to use leasehold.
export function maintainersPages() {
  return groups().filter(isForMaintainers).flatMap((group) => group.items)
}

/// The public names, by the folders of their headers.
function referenceMenu() {
  const folders = new Map()
  for (const { name, page, file } of publicNames) {
    const folder = path.dirname(file ?? 'leasehold/x')
    if (!folders.has(folder)) folders.set(folder, [])
    folders.get(folder).push({ text: name, link: `/reference/${page}.html` })
  }
  const depth = (folder) => folder.split('/').length
  return [...folders].sort(([a], [b]) => depth(a) - depth(b) || a.localeCompare(b))
    .map(([text, items]) => ({ text, items }))  // none collapses: VitePress nests one button in another there
}

/// The menus, by the beginnings of the addresses that have them. The first that fits counts.
export function menus() {
  const ofMaintainers = groups().filter(isForMaintainers)
  const guides = groups().filter((group) => !isForMaintainers(group))
  const allNames = { text: 'Reference', items: [{ text: 'All names', link: '/reference/index.html' }] }
  const menus = { '/reference/': [allNames, ...referenceMenu()] }
  for (const { link } of maintainersPages()) menus[link.replace(/\.html$/, '.md')] = ofMaintainers
  return { ...menus, '/': guides }
}
