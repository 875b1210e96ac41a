package io.kvasir.gateway.error;

import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import io.kvasir.telemetry.LogIds;
import io.kvasir.telemetry.RedactedException;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one place where what goes wrong with a request becomes an answer in its API's words.
 *
 * @param ids of the request
 * @param onError records an error that was answered, for metrics and logs
 */
public record ApiBoundary(Exchange exchange, LogIds ids, Consumer<ApiError> onError) {
  private static final Logger LOG = LoggerFactory.getLogger(ApiBoundary.class);

  /** Makes an answer. */
  @FunctionalInterface
  public interface AnswerSource {
    Response answer() throws ApiException, InterruptedException;
  }

  /** The source's answer, or the error that took its place. */
  public Response answer(AnswerSource source) throws InterruptedException {
    try {
      return source.answer();
    } catch (ApiException e) {
      return failed(e.error());
    } catch (RuntimeException | LinkageError | StackOverflowError e) {
      ids.in(LOG.atError()).setCause(RedactedException.of(e))
          .log("{} {} failed inside the router", exchange.method(), exchange.path());
      return failed(ApiError.INTERNAL);
    }
  }

  private Response failed(ApiError error) {
    onError.accept(error);
    return ErrorFormat.of(exchange.path(), exchange.headers()).answer(error, ids.requestId());
  }
}
