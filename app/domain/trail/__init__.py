"""What is written of every act, linked so that it cannot be changed unnoticed."""
