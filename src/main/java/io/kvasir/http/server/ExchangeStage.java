package io.kvasir.http.server;

import io.kvasir.http.ConnectionThread;
import io.kvasir.http.Headers;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.RequestMemory;
import java.util.Arrays;
import java.util.Objects;
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
 * The application's end of a connection's stream: one request at a time, its body gathered within the limits and the
 * memory that it has booked, then handled on a virtual thread, then answered. The next request is taken when the answer
 * has been written.
 */
final class ExchangeStage extends GraphStage<FlowShape<HttpRequest, HttpResponse>> {
  /** A body's buffer begins no larger than this, whatever length was announced; then it grows with what comes. */
  private static final int FIRST_BYTES = 2 << 10;

  /** A buffer that grows becomes so many times as long as what has come: the larger, the less is copied again. */
  private static final long GROWTH = 8;

  /**
   * Booked for every byte of a body's buffer: itself and, ahead of it, what reading the body takes, so that a body that
   * has arrived is not refused for want of memory to read it.
   */
  private static final int BOOKED_PER_BYTE = 1 + RequestMemory.READING_PER_BYTE;

  private final Inlet<HttpRequest> in = Inlet.create("Exchange.in");
  private final Outlet<HttpResponse> out = Outlet.create("Exchange.out");
  private final FlowShape<HttpRequest, HttpResponse> shape = FlowShape.of(in, out);
  private final ClientConnection connection;
  private final HttpHandler handler;
  private final MemoryBudget memory;
  private final int maxBodyBytes;

  ExchangeStage(ClientConnection connection, HttpHandler handler) {
    this.connection = connection;
    this.handler = handler;
    this.memory = connection.memory();
    this.maxBodyBytes = connection.maxBodyBytes();
  }

  /** The longest body that is taken, in bytes: what is configured, unless it could never have its memory. */
  static int longestBody(int configured, MemoryBudget memory) {
    return (int) Math.min(configured, memory.largest() / BOOKED_PER_BYTE);
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
    private final AsyncCallback<BodyCollector> memoryBooked = createAsyncCallback(this::memoryBooked);
    private final AsyncCallback<BodyCollector> filled = createAsyncCallback(this::filled);
    private final AsyncCallback<BodyWithoutMemory> memoryRefused = createAsyncCallback(this::memoryRefused);
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
      PartialBody partial = connection.request().takePartialBody();
      OptionalLong announced =
          partial == null ? request.entity().getContentLengthOption() : OptionalLong.of(partial.length());
      if (announced.isPresent() && announced.getAsLong() > maxBodyBytes) {
        refuse(request, tooLong(announced.getAsLong()));
        return;
      }
      HttpEntity.Strict whole = request.entity() instanceof HttpEntity.Strict strict ? strict : null;
      boolean empty = partial == null && whole != null && whole.getData().isEmpty();
      ContentCoding coding = empty ? ContentCoding.IDENTITY : ContentCoding.of(request);
      if (coding == null) {
        refuse(
            request,
            new RequestFailure(
                415,
                "the Content-Encoding of the request's body is not supported; accepted are "
                    + ContentCoding.ACCEPTED));
        return;
      }
      if (partial == null && whole != null && coding == ContentCoding.IDENTITY) {
        gather(request, coding).beginWhole(whole.getData());
        return;
      }
      Response.Buffered refusal = handler.refusal(arrived(request));
      if (refusal != null) {
        refuse(refusal);
        return;
      }
      if (coding != ContentCoding.IDENTITY) {
        connection.request().bodyIsCoded();
        ConnectionThread.leaveConnection();
      }
      connection.awaitBody(bodyFailed);
      if (partial == null) {
        gather(request, coding).begin();
      } else {
        gather(request, coding).begin(partial);
      }
    }

    private BodyCollector gather(HttpRequest request, ContentCoding coding) {
      BodyCollector collector = new BodyCollector(request, coding);
      gathering = collector;
      return collector;
    }

    private void start(HttpRequest request, byte[] body, MemoryBudget.Account account) {
      if (connection.refusesRequests()) {
        account.close();
        refuse(
            request,
            new RequestFailure(
                503,
                "this router is shutting down; send the request again, it will reach another",
                ReachedLimit.STOPPING));
        return;
      }
      RunningExchange exchange = new RunningExchange(connection, handler, answered, request, body, account);
      if (connection.startExchange(exchange.cancellation())) {
        ConnectionThread.startOnCurrent("http-exchange", exchange, body.length <= ConnectionThread.BRIEF_BYTES);
      } else {
        account.close();
      }
    }

    private void refuse(HttpRequest request, RequestFailure why) {
      Response.Buffered answer = handler.failure(arrived(request), why);
      if (why.status() == 415) {
        Headers headers = answer.headers().toBuilder().set("Accept-Encoding", ContentCoding.ACCEPTED).build();
        answer = new Response.Buffered(415, headers, answer.body());
      }
      refuse(answer);
    }

    private ArrivedRequest arrived(HttpRequest request) {
      return new ArrivedRequest(
          request.method().value(), PekkoMapping.target(request), PekkoMapping.headers(request, 0),
          connection.client());
    }

    private void refuse(Response.Buffered answer) {
      connection.expectResponseEnd();
      answered(PekkoMapping.response(answer, connection.closesAfterResponse()));
    }

    private void answered(HttpResponse response) {
      busy = false;
      push(out, response);
    }

    private void bodyFailed(RefusedRequestException why) {
      refuseGathering(why.failure());
    }

    private void memoryRefused(BodyWithoutMemory refused) {
      if (gathering == refused.body) {
        refuseGathering(
            new RequestFailure(
                503,
                "this router has no memory left for the request's body now; send it again in a moment",
                ReachedLimit.of(refused.shortage)));
      }
    }

    private void memoryBooked(BodyCollector collector) {
      if (gathering == collector) {
        collector.booked();
      }
    }

    private void filled(BodyCollector collector) {
      if (gathering == collector) {
        collector.filled();
      }
    }

    /** A length beyond what is configured, or for which there could never be the memory. */
    private RequestFailure tooLong(long length) {
      boolean byMemory = maxBodyBytes == longestBody(Integer.MAX_VALUE, memory);
      return new RequestFailure(
          413,
          "the request's body is longer than the limit of " + maxBodyBytes + " bytes",
          new ReachedLimit(
              byMemory ? ReachedLimit.Kind.MEMORY : ReachedLimit.Kind.BODY_LENGTH, length, maxBodyBytes));
    }

    private void refuseGathering(RequestFailure why) {
      BodyCollector refused = gathering;
      if (refused != null) {
        gathering = null;
        refused.end();
        refuse(refused.request, why);
      }
    }

    @Override
    public void postStop() {
      if (gathering != null) {
        gathering.account.close();
      }
    }

    /** A body that has to give up its memory, or gets none. */
    private record BodyWithoutMemory(BodyCollector body, RequestMemory.Shortage shortage) {}

    /** Collects a body, in a buffer that grows when its memory has been booked. */
    private final class BodyCollector extends AbstractInHandler {
      private final HttpRequest request;
      private final ContentCoding coding;
      private final MemoryBudget.Account account =
          memory.open(shortage -> memoryRefused.invoke(new BodyWithoutMemory(this, shortage)));
      private @Nullable SubSinkInlet<ByteString> body;
      private @Nullable PartialBody partial;
      private boolean finished;
      private byte[] bytes = new byte[0];
      private int size;

      /** What has come but waits for memory. */
      private @Nullable ByteString next;

      private long capacity;

      BodyCollector(HttpRequest request, ContentCoding coding) {
        this.request = request;
        this.coding = coding;
      }

      /** Takes a body that came with its head. */
      void beginWhole(ByteString whole) {
        finished = true;
        if (whole.isEmpty()) {
          complete(bytes);
        } else {
          add(whole, whole.size());
        }
      }

      /** Receives a body that did not come with its head, or is to be decoded. */
      void begin() {
        account.incomplete();
        SubSinkInlet<ByteString> inlet = new SubSinkInlet<>("Exchange.body");
        body = inlet;
        inlet.setHandler(this);
        coding.decoded(request.entity().getDataBytes()).runWith(inlet.sink(), subFusingMaterializer());
        inlet.pull();
      }

      /** Receives a body whose rest Pekko does not see. */
      void begin(PartialBody begun) {
        account.incomplete();
        partial = begun;
        add(begun.begun(), capacityFor(begun.begun().size(), begun.length()));
      }

      /** The buffer is full of what has come of a partial body. */
      void filled() {
        PartialBody filled = Objects.requireNonNull(partial, "only a partial body is filled in");
        size = bytes.length;
        if (size == filled.length()) {
          connection.request().bodyCompleted(filled);
          complete();
        } else {
          add(ByteString.emptyByteString(), capacityFor(size, filled.length()));
        }
      }

      private static long capacityFor(int come, long longest) {
        return Math.min(longest, Math.max(FIRST_BYTES, GROWTH * come));
      }

      private SubSinkInlet<ByteString> body() {
        return Objects.requireNonNull(body, "a whole body is not received");
      }

      @Override
      public void onPush() {
        ByteString more = body().grab();
        if (more.size() > maxBodyBytes - size) {
          refuseGathering(tooLong((long) size + more.size()));
        } else if (more.size() <= bytes.length - size) {
          append(more);
          body().pull();
        } else {
          long longest =
              coding == ContentCoding.IDENTITY
                  ? request.entity().getContentLengthOption().orElse(maxBodyBytes)
                  : maxBodyBytes;
          add(more, capacityFor(size + more.size(), longest));
        }
      }

      /** Books the memory of a buffer that has room for {@code more}, then goes on. */
      private void add(ByteString more, long newCapacity) {
        next = more;
        capacity = newCapacity;
        long need = BOOKED_PER_BYTE * (newCapacity - bytes.length);
        if (account.tryBook(need)) {
          booked();
        } else {
          account.book(need, () -> memoryBooked.invoke(this));
        }
      }

      /** Goes on with what has waited for memory. */
      void booked() {
        ByteString more = Objects.requireNonNull(next, "nothing waits");
        next = null;
        if (finished && size == 0 && capacity == more.size()) {
          complete(more.toArrayUnsafe());
          return;
        }
        bytes = Arrays.copyOf(bytes, (int) capacity);
        append(more);
        if (finished) {
          complete();
        } else if (partial != null) {
          connection.input().fill(bytes, size, bytes.length, () -> filled.invoke(this));
        } else {
          body().pull();
        }
      }

      private void append(ByteString more) {
        more.copyToArray(bytes, size, more.size());
        size += more.size();
      }

      @Override
      public void onUpstreamFinish() {
        finished = true;
        if (next == null) {
          complete();
        }
      }

      @Override
      public void onUpstreamFailure(Throwable failure) {
        if (failure instanceof RefusedRequestException refusal) {
          refuseGathering(refusal.failure());
        } else if (coding != ContentCoding.IDENTITY) {
          refuseGathering(new RequestFailure(400, "the request's body is not what its Content-Encoding says"));
        } else {
          gathering = null;
          account.close();
          failStage(failure);
        }
      }

      private void complete() {
        if (size < bytes.length) {
          account.free(BOOKED_PER_BYTE * (long) (bytes.length - size));
        }
        complete(size == bytes.length ? bytes : Arrays.copyOf(bytes, size));
      }

      private void complete(byte[] whole) {
        // If not, the refusal is on its way.
        if (account.complete()) {
          start(request, whole, account);
          gathering = null;
        }
      }

      /** Takes nothing more, and gives the memory back. */
      void end() {
        account.close();
        connection.bodyRefused();
        if (body != null && !body.isClosed()) {
          body.cancel();
        }
      }
    }
  }
}
