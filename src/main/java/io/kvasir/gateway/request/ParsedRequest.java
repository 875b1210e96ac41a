package io.kvasir.gateway.request;

import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.body.UnreadBody;
import io.kvasir.gateway.forwarding.ForwardedRequest;
import io.kvasir.http.ApiPath;
import io.kvasir.locations.WorkerLocation;
import org.jspecify.annotations.Nullable;

/**
 * A request that has been read.
 *
 * @param location where the stored response is that it refers to, null when it refers to none that is known
 * @param model as it names it, or the one it is taken to mean
 * @param context its profile and facts
 * @param forwarded the request as a worker gets it
 * @param unread why nothing is known of its prompt; null where something is, or could be
 */
public record ParsedRequest(
    ApiPath api, ApiRequest request, @Nullable WorkerLocation location, String model,
    RequestContext context, ForwardedRequest forwarded, @Nullable UnreadBody unread) {
  /** One that has been read. */
  ParsedRequest(
      ApiPath api, ApiRequest request, @Nullable WorkerLocation location, String model,
      RequestContext context, ForwardedRequest forwarded) {
    this(api, request, location, model, context, forwarded, null);
  }

  /** The same, read as another API's. */
  public ParsedRequest withApi(ApiPath other) {
    return new ParsedRequest(other, request, location, model, context, forwarded, unread);
  }

  /** The same, of whose prompt nothing is known. */
  ParsedRequest unread(UnreadBody why) {
    return new ParsedRequest(api, request, location, model, context, forwarded, why);
  }
}
