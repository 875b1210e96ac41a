package io.kvasir.http.server;

import org.apache.pekko.Done;
import org.apache.pekko.stream.stage.AsyncCallback;
import org.apache.pekko.util.ByteString;

/** The entry of a connection's stream, for the thread that reads the socket. */
record InboundStream(AsyncCallback<ByteString> received, AsyncCallback<Done> ended) {}
