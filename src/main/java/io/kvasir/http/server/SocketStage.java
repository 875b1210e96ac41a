package io.kvasir.http.server;

import io.kvasir.http.ConnectionThread;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.pekko.stream.Attributes;
import org.apache.pekko.stream.FlowShape;
import org.apache.pekko.stream.Inlet;
import org.apache.pekko.stream.Outlet;
import org.apache.pekko.stream.TLSProtocol.SendBytes;
import org.apache.pekko.stream.TLSProtocol.SessionBytes;
import org.apache.pekko.stream.TLSProtocol.SslTlsInbound;
import org.apache.pekko.stream.TLSProtocol.SslTlsOutbound;
import org.apache.pekko.stream.stage.AbstractInHandler;
import org.apache.pekko.stream.stage.AbstractOutHandler;
import org.apache.pekko.stream.stage.GraphStage;
import org.apache.pekko.stream.stage.GraphStageLogic;
import org.apache.pekko.util.ByteString;
import org.jspecify.annotations.Nullable;

/**
 * The socket's end of a connection's stream: what Pekko renders is written, what arrives is handed in, request by
 * request. The next one is handed in when the answer to the one before has been written to its end.
 */
final class SocketStage extends GraphStage<FlowShape<SslTlsOutbound, SslTlsInbound>> {
  private final Inlet<SslTlsOutbound> in = Inlet.create("Socket.in");
  private final Outlet<SslTlsInbound> out = Outlet.create("Socket.out");
  private final FlowShape<SslTlsOutbound, SslTlsInbound> shape = FlowShape.of(in, out);
  private final ClientConnection connection;

  SocketStage(ClientConnection connection) {
    this.connection = connection;
  }

  @Override
  public FlowShape<SslTlsOutbound, SslTlsInbound> shape() {
    return shape;
  }

  @Override
  public GraphStageLogic createLogic(Attributes attributes) {
    return new SocketLogic();
  }

  private final class SocketLogic extends GraphStageLogic {
    private final StreamedRequest request = connection.request();
    private final RequestFramer framer = new RequestFramer(connection.memory());
    private final InboundStream inbound =
        new InboundStream(
            createAsyncCallback(done -> handIn()),
            createAsyncCallback(this::headLate),
            createAsyncCallback(done -> completeStage()),
            createAsyncCallback(this::upgraded));

    /** Where the input goes once the connection has left HTTP. */
    private InboundStream.@Nullable UpgradedInput upgraded;

    SocketLogic() {
      super(shape);
      setHandler(
          in,
          new AbstractInHandler() {
            @Override
            public void onPush() {
              ByteString bytes = ((SendBytes) grab(in)).bytes();
              if (!request.isPending()) {
                refuse(refusal(bytes));
                return;
              }
              try {
                if (connection.write(bytes)) {
                  answered();
                }
                pull(in);
              } catch (IOException e) {
                // An everyday event, so not a failure of the stage: those are logged.
                connection.disconnected();
                completeStage();
              }
            }

            @Override
            public void onUpstreamFinish() {
              connection.finish();
              completeStage();
            }

            @Override
            public void onUpstreamFailure(Throwable failure) {
              connection.abort();
              completeStage();
            }
          });
      setHandler(
          out,
          new AbstractOutHandler() {
            @Override
            public void onPull() {
              handIn();
            }

            @Override
            public void onDownstreamFinish(Throwable cause) {
              // The parser takes no more input; what is still to be written will be.
              framer.end();
            }
          });
    }

    @Override
    public void preStart() {
      pull(in);
      connection.streamStarted(inbound);
    }

    @Override
    public void postStop() {
      framer.end();
      connection.streamStopped();
    }

    /** Hands in the next piece of the request in progress, if the parser waits for one and it has come. */
    private void handIn() {
      if (upgraded != null) {
        upgraded.available();
        return;
      }
      try {
        while (isAvailable(out)) {
          ByteString piece = framer.next();
          if (piece != null) {
            request.bodyPastPekko(framer.takePartialBody());
            // No TLS session: the parser uses it only to expose certificates to handlers.
            push(out, new SessionBytes(null, piece));
            return;
          }
          if (!framer.takesInput()) {
            return;
          }
          byte[] bytes = connection.input().take();
          if (bytes == null) {
            if (framer.isWithinHead()) {
              connection.headBegun();
            }
            return;
          }
          if (request.isDecoded()) {
            ConnectionThread.leaveConnection();
          }
          framer.add(bytes);
        }
      } catch (RefusedRequestException e) {
        refuse(e);
      }
    }

    private void upgraded(InboundStream.UpgradedInput next) {
      upgraded = next;
      byte[] rest = framer.rest();
      framer.end();
      next.begin(rest);
    }

    private void answered() {
      if (framer.isComplete() && !framer.isLast() && !connection.closesAfterResponse()) {
        framer.startNextRequest();
        handIn();
      } else {
        framer.end();
        connection.finish();
      }
    }

    private void headLate(RefusedRequestException late) {
      if (framer.isWithinHead()) {
        refuse(late);
      } else if (!request.isPending()) {
        connection.abortUnanswered(late);
      }
    }

    private void refuse(RefusedRequestException refusal) {
      if (request.isPending()) {
        connection.failBody(refusal);
        return;
      }
      framer.end();
      try {
        connection.refuse(framer.target(), refusal);
      } catch (IOException e) {
        connection.disconnected();
      }
      completeStage();
    }

    /** What Pekko answers by itself: its parser has refused a head. */
    private RefusedRequestException refusal(ByteString answer) {
      String text = answer.decodeString(StandardCharsets.UTF_8);
      int status = Integer.parseInt(text, "HTTP/1.1 ".length(), "HTTP/1.1 200".length(), 10);
      int body = text.indexOf("\r\n\r\n") + 4;
      return new RefusedRequestException(status, "the request is refused: " + text.substring(body).strip());
    }
  }
}
