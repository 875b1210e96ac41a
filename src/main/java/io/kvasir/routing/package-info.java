/**
 * Five stages, Prepare, Filter, Score, Pick, Execute, over columns of candidates. Plugins talk only
 * through typed slots; a profile names them, and the compiler proves before a port opens that every
 * slot read has been written. Plain Java: no actors, no HTTP, no clock of its own, so the laboratory
 * replays traces through the very classes that serve production.
 */
@NullMarked
package io.kvasir.routing;

import org.jspecify.annotations.NullMarked;
