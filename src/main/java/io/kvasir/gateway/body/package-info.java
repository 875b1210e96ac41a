/**
 * What the gateway reads of bodies. They stay as they came: this only looks.
 *
 * <p>{@link io.kvasir.gateway.body.RequestReader} reads a body, whose memory is booked as it is read ({@code
 * JsonTreeReader}), into an {@link io.kvasir.gateway.body.ApiRequest}; of a form it reads the model alone ({@code
 * MultipartForm}). What cannot be read is an {@link io.kvasir.gateway.body.UnreadBodyException}, which says why by an
 * {@link io.kvasir.gateway.body.UnreadBody}. Where a body need not be JSON, or is not all there, a {@link
 * io.kvasir.gateway.body.RequestOutline} has what its first members show, by way of a {@link
 * io.kvasir.gateway.body.MemberCursor}.
 */
@NullMarked
package io.kvasir.gateway.body;

import org.jspecify.annotations.NullMarked;
