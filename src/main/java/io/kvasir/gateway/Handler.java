package io.kvasir.gateway;

import org.apache.pekko.http.javadsl.model.HttpResponse;

/** Answers requests. Called on a virtual thread of the exchange's own, so it may block. */
@FunctionalInterface
public interface Handler {
  /** The answer. An exception becomes a 500 in the error shape of the API that was called. */
  HttpResponse handle(Exchange exchange) throws Exception;
}
