package io.kvasir.http.server;

import java.io.IOException;
import java.util.ArrayDeque;
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

/** The socket's end of a connection's stream: what Pekko renders is written, what arrives is handed in. */
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
    private final ArrayDeque<ByteString> waiting = new ArrayDeque<>(2);
    private final InboundStream inbound =
        new InboundStream(createAsyncCallback(this::arrived), createAsyncCallback(done -> completeStage()));

    SocketLogic() {
      super(shape);
      setHandler(
          in,
          new AbstractInHandler() {
            @Override
            public void onPush() {
              try {
                connection.write(((SendBytes) grab(in)).bytes());
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
              ByteString next = waiting.poll();
              if (next != null) {
                handIn(next);
              }
            }

            @Override
            public void onDownstreamFinish(Throwable cause) {
              // The parser takes no more input; what is still to be written will be.
              waiting.clear();
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
      connection.streamStopped();
    }

    private void arrived(ByteString bytes) {
      if (isClosed(out)) {
        connection.input().consumed(bytes.size());
      } else if (waiting.isEmpty() && isAvailable(out)) {
        handIn(bytes);
      } else {
        waiting.add(bytes);
      }
    }

    private void handIn(ByteString bytes) {
      connection.input().consumed(bytes.size());
      // No TLS session: the parser uses it only to expose certificates to handlers.
      push(out, new SessionBytes(null, bytes));
    }
  }
}
