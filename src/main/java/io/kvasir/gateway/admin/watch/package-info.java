/**
 * Topics of the admin API as a stream of server-sent events: {@link io.kvasir.gateway.admin.watch.TopicPublisher} reads
 * each topic once a second while anyone watches it, and all watchers get the same bytes.
 */
@NullMarked
package io.kvasir.gateway.admin.watch;

import org.jspecify.annotations.NullMarked;
