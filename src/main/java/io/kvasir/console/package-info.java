/**
 * The console: pages in the browser that show an operator what the router does. Only the wiring uses it.
 *
 * <p>{@link io.kvasir.console.ConsoleAssets} serves its files under {@code /console/}: native modules, one for each
 * page and a few that pages share, one style sheet, and three libraries as their projects released them ({@code
 * vendor}, with licences and hashes). Nothing is built and nothing is fetched from elsewhere. Every figure on the pages
 * is one of the admin API's, asked for with the operator's own key; this package knows none of them.
 */
@NullMarked
package io.kvasir.console;

import org.jspecify.annotations.NullMarked;
