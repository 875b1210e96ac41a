package io.kvasir.http.server;

import java.util.Arrays;
import java.util.OptionalLong;
import org.apache.pekko.http.javadsl.model.HttpEntity;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.FlowShape;
import org.apache.pekko.stream.Inlet;
import org.apache.pekko.stream.Outlet;
import org.apache.pekko.stream.stage.AbstractInHandler;
import org.apache.pekko.stream.stage.AbstractOutHandler;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.apache.pekko.stream.stage.GraphStage;
import org.apache.pekko.stream.stage.GraphStageLogic;
import org.apache.pekko.util.ByteString;
import org.jspecify.annotations.Nullable;

/**
 * The application's end of a connection's stream: one request at a time, its body gathered within the limits,
 * then handled on a virtual thread, then answered. The next request is taken when the answer has been written.
 */
final class ExchangeStage extends GraphStage<FlowShape<HttpRequest, HttpResponse>> {
  /** A body's buffer begins no larger than this, whatever length was announced. */
  private static final int FIRST_BYTES = 256 << 10;

  private final Inlet<HttpRequest> in = Inlet.create("Exchange.in");
  private final Outlet<HttpResponse> out = Outlet.create("Exchange.out");
  private final FlowShape<HttpRequest, HttpResponse> shape = FlowShape.of(in, out);
  private final ClientConnection connection;
  private final HttpHandler handler;
  private final int maxBodyBytes;

  ExchangeStage(ClientConnection connection, HttpHandler handler, int maxBodyBytes) {
    this.connection = connection;
    this.handler = handler;
    this.maxBodyBytes = maxBodyBytes;
  }

  @Override
  public FlowShape<HttpRequest, HttpResponse> shape() {
    return shape;
  }

  @Override
  public GraphStageLogic createLogic(Attributes attributes) {
    return new ExchangeLogic();
  }

  private final class ExchangeLogic extends GraphStageLogic {
    private final AsyncCallback<HttpResponse> answered = createAsyncCallback(this::answered);
    private final AsyncCallback<RefusedRequestException> bodyFailed = createAsyncCallback(this::bodyFailed);
    private boolean busy;
    private @Nullable BodyCollector gathering;

    ExchangeLogic() {
      super(shape);
      setHandler(
          in,
          new AbstractInHandler() {
            @Override
            public void onPush() {
              begin(grab(in));
            }

            @Override
            public void onUpstreamFinish() {
              // The current request is answered first.
              if (!busy) {
                completeStage();
              }
            }
          });
      setHandler(
          out,
          new AbstractOutHandler() {
            @Override
            public void onPull() {
              if (isClosed(in)) {
                completeStage();
              } else if (!hasBeenPulled(in)) {
                pull(in);
              }
            }
          });
    }

    private void begin(HttpRequest request) {
      busy = true;
      connection.requestBegun();
      if (request.entity() instanceof HttpEntity.Strict whole) {
        if (whole.getData().size() > maxBodyBytes) {
          refuse(request, 413, PekkoMapping.tooLong(maxBodyBytes));
        } else {
          start(request, whole.getData().toArrayUnsafe());
        }
        return;
      }
      OptionalLong announced = request.entity().getContentLengthOption();
      if (announced.isPresent() && announced.getAsLong() > maxBodyBytes) {
        refuse(request, 413, PekkoMapping.tooLong(maxBodyBytes));
        return;
      }
      connection.awaitBody(bodyFailed);
      gathering = new BodyCollector(request);
      gathering.begin();
    }

    private void start(HttpRequest request, byte[] body) {
      if (connection.refusesRequests()) {
        refuse(request, 503, "this router is shutting down; send the request again, it will reach another");
        return;
      }
      RunningExchange exchange = new RunningExchange(connection, handler, answered, request, body);
      if (connection.startExchange(exchange.cancellation())) {
        Thread.startVirtualThread(exchange);
      }
    }

    private void refuse(HttpRequest request, int status, String message) {
      connection.expectResponseEnd();
      answered(
          PekkoMapping.response(handler.failure(PekkoMapping.target(request), status, message),
              connection.closesAfterResponse()));
    }

    private void answered(HttpResponse response) {
      busy = false;
      push(out, response);
    }

    private void bodyFailed(RefusedRequestException why) {
      if (gathering != null) {
        BodyCollector failed = gathering;
        gathering = null;
        failed.body.cancel();
        refuse(failed.request, why.status(), why.message());
      }
    }

    /** Collects a body that did not come with its head. */
    private final class BodyCollector extends AbstractInHandler {
      private final HttpRequest request;
      private final SubSinkInlet<ByteString> body = new SubSinkInlet<>("Exchange.body");
      private byte[] bytes;
      private int size;

      BodyCollector(HttpRequest request) {
        this.request = request;
        OptionalLong announced = request.entity().getContentLengthOption();
        this.bytes = new byte[(int) Math.min(FIRST_BYTES, announced.orElse(4096))];
        body.setHandler(this);
      }

      void begin() {
        request.entity().getDataBytes().runWith(body.sink(), subFusingMaterializer());
        body.pull();
      }

      @Override
      public void onPush() {
        ByteString more = body.grab();
        if (more.size() > maxBodyBytes - size) {
          gathering = null;
          body.cancel();
          refuse(request, 413, PekkoMapping.tooLong(maxBodyBytes));
          return;
        }
        if (more.size() > bytes.length - size) {
          long capacity = request.entity().getContentLengthOption().orElse(maxBodyBytes);
          bytes = Arrays.copyOf(bytes, (int) Math.min(capacity, 2L * (size + more.size())));
        }
        more.copyToArray(bytes, size, more.size());
        size += more.size();
        body.pull();
      }

      @Override
      public void onUpstreamFinish() {
        gathering = null;
        start(request, size == bytes.length ? bytes : Arrays.copyOf(bytes, size));
      }

      @Override
      public void onUpstreamFailure(Throwable failure) {
        gathering = null;
        // Malformed framing: the layer below turns it into a 400 and closes.
        failStage(failure);
      }
    }
  }
}
